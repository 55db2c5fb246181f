mod ladder;

// SwiGLU, forward and backward.
//
// Launch    blocks of 256 threads along x, a thread for each hidden unit.
// Reads     gate_up: [rows, 2·hidden]. dh: [rows, hidden].
// Writes    h: [rows, hidden]; backward it is computed once more. d: as gate_up.
// Before    layers/swiglu.rs.

KERNEL THREADS_OF_BLOCK(256, 1) void gate(IN(gate_up), OUT(h), uint count, uint hidden)
{
    READ(gate_up);
    WRITE(h);
    EACH_OF(i, count);
    uint at = i / hidden * 2 * hidden + i % hidden;
    float own = gate_up[at], up = gate_up[at + hidden];
    h[i] = own / (1.0f + EXP(-own)) * up;
}

KERNEL THREADS_OF_BLOCK(256, 1) void gate_backward(
    IN(gate_up), IN(dh), OUT(d), OUT(h), uint count, uint hidden)
{
    READ(gate_up);
    READ(dh);
    WRITE(d);
    WRITE(h);
    EACH_OF(i, count);
    uint at = i / hidden * 2 * hidden + i % hidden;
    float own = gate_up[at], up = gate_up[at + hidden];
    float open = 1.0f / (1.0f + EXP(-own)), silu = own * open;
    h[i] = silu * up;
    d[at] = dh[i] * up * (open + silu * (1.0f - open));
    d[at + hidden] = dh[i] * silu;
}

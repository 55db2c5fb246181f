//! The test of the exercise `grouped-query`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Config, cache, parameters, sequences};
use lab::random::SplitMix64;

/// The chapter's `small`.
const SMALL: Config = Config {
    vocabulary: 2048,
    context: 256,
    width: 256,
    heads: 8,
    key_heads: 8,
    layers: 6,
    hidden: 704,
    tied: true,
};

/// Llama 3 8B.
const LLAMA: Config = Config {
    vocabulary: 128_256,
    context: 8192,
    width: 4096,
    heads: 32,
    key_heads: 8,
    layers: 32,
    hidden: 14_336,
    tied: false,
};

/// Llama 3.1 405B.
const LARGE: Config =
    Config { context: 131_072, width: 16_384, heads: 128, layers: 126, hidden: 53_248, ..LLAMA };

#[test]
fn parameters_are_the_published_ones() {
    let mistral = Config { vocabulary: 32_000, ..LLAMA };
    let one_billion =
        Config { width: 2048, layers: 16, hidden: 8192, tied: true, context: 131_072, ..LLAMA };
    for (name, config, wanted) in [
        ("small", SMALL, 5_344_512),
        ("Llama 3.2 1B", one_billion, 1_235_814_400),
        ("Mistral 7B", mistral, 7_241_732_096),
        ("Llama 3 8B", LLAMA, 8_030_261_248),
        ("Llama 3.1 405B", LARGE, 405_853_388_800),
    ] {
        let found = parameters(&config);
        assert_eq!(found, wanted, "{name}: {found} parameters are counted, it has {wanted}");
    }
}

#[test]
fn the_cache_shrinks_with_the_heads_of_keys() {
    let found = cache(&SMALL, 256, 4);
    assert_eq!(found, 3 << 20, "a context of small in f32 is 3 MiB, as the section counts");
    for (key_heads, kib) in [(32, 512), (8, 128), (1, 16)] {
        let found = cache(&Config { key_heads, ..LLAMA }, 1, 2);
        assert_eq!(found, kib << 10, "{key_heads} heads of keys: bytes of a token in 16 bits");
    }
    assert_eq!(cache(&LLAMA, 0, 2), 0, "no tokens need no bytes");
}

#[test]
fn weights_and_sequences_share_the_memory() {
    let gib = |count: u64| count << 30;
    let found = sequences(&LLAMA, gib(80), 2);
    println!("80 GiB hold {found} sequences of 8,192 tokens beside the weights of Llama 3 8B");
    assert_eq!(found, 65, "sequences of 1 GiB each in 80 GiB, of which the weights take 14.96");
    assert_eq!(sequences(&LLAMA, gib(15), 2), 0, "the weights fit, and no sequence beside them");
    assert_eq!(sequences(&LLAMA, gib(8), 2), 0, "not even the weights fit");
    assert_eq!(sequences(&LARGE, gib(640), 2), 0, "405 billion numbers of 2 bytes in 640 GiB");
    let room = parameters(&SMALL) * 4 + cache(&SMALL, 256, 4);
    let found = [room - 1, room].map(|memory| sequences(&SMALL, memory, 4));
    assert_eq!(found, [0, 1], "a sequence fits when its last byte does");
}

#[test]
fn any_sizes_agree_with_a_list_of_all_tensors() {
    let mut random = SplitMix64::new(2);
    for _ in 0..100 {
        let mut draw = |most: usize| 1 + random.below(most) as u64;
        let (key_heads, group, size) = (draw(5), draw(5), draw(9));
        let [vocabulary, context, layers, hidden] = [300, 50, 5, 99].map(&mut draw);
        let (heads, tied, tokens) = (key_heads * group, draw(2) == 1, draw(100));
        let width = heads * size;
        let config = Config { vocabulary, context, width, heads, key_heads, layers, hidden, tied };
        let mut all = vec![width; 1 + 2 * layers as usize]; // scales
        all.extend(vec![vocabulary * width; if tied { 1 } else { 2 }]);
        for _ in 0..layers {
            all.extend((0..heads).map(|_| width * size)); // queries
            all.extend((0..2 * key_heads).map(|_| width * size)); // keys, values
            all.push(width * width); // the output projection
            all.extend([width * hidden; 3]);
        }
        assert_eq!(parameters(&config), all.iter().sum::<u64>(), "parameters of {config:?}");
        let wanted = layers * 2 * key_heads * size * tokens * 4;
        assert_eq!(cache(&config, tokens, 4), wanted, "bytes of {tokens} tokens of {config:?}");
    }
}

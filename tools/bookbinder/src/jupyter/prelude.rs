// The kernel runs this first, so that what it generates around a cell says aloud that the cell has failed: see launch.py.
macro_rules! println {
    ("EVCXR_PANIC_NOTIFICATION") => {{
        std::eprintln!("THROUGHPUT_END");
        std::println!("EVCXR_BEGIN_CONTENT application/x-throughput-failed\npanic\nEVCXR_END_CONTENT");
        std::println!("EVCXR_PANIC_NOTIFICATION");
    }};
    ("{}", evcxr_internal_runtime::USER_ERROR_OCCURRED) => {{
        std::eprintln!("THROUGHPUT_END");
        std::println!("EVCXR_BEGIN_CONTENT application/x-throughput-failed\n?\nEVCXR_END_CONTENT");
        std::println!("{}", evcxr_internal_runtime::USER_ERROR_OCCURRED);
    }};
    ($($all:tt)*) => {
        std::println!($($all)*)
    };
}

pub fn chapter() -> lab::Chapter { lab::chapter() }

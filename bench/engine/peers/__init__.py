"""The systems measured, one module each; `base` says what such a module offers."""

//! How errors end a program.

/// Makes an error of a type that has a `Display`. `{:?}` says what `{}` does, so that a program whose `main` returns the error
/// ends with a sentence.
#[doc(hidden)]
#[macro_export]
macro_rules! __error {
    ($($error:ty),+ $(,)?) => {$(
        impl ::core::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self, f)
            }
        }

        impl ::core::error::Error for $error {}
    )+};
}

//! How errors end a program.

/// Lets `{:?}` of an error say what `{}` does, so that a program whose `main` returns it ends with a sentence.
#[doc(hidden)]
#[macro_export]
macro_rules! __debug_by_display {
    ($($error:ty),+ $(,)?) => {$(
        impl ::core::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self, f)
            }
        }
    )+};
}

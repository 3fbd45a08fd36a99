//! What a user reads when a command fails: the cause, and what to do next.

use std::fmt;
use std::process::ExitCode;

/// A command's end that is not a success.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    exit: Exit,
    /// Whether it is told in a line of JSON.
    json: bool,
}

/// The exit codes, as the man page lists them (0 is success).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exit {
    /// 0: the reader of the output has closed it.
    Quiet = 0,
    /// 1: it did not work.
    Error,
    /// 2: it was asked for in a way that cannot work.
    Usage,
    /// 3: a check that ended before it could say anything.
    Unfinished,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Exit code 1, with the cause.
    pub(crate) fn new(cause: impl fmt::Display) -> Self {
        Self { message: cause.to_string(), hint: None, exit: Exit::Error, json: false }
    }

    /// Exit code 2: the command line itself is wrong.
    pub(crate) fn usage(cause: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, ..Self::new(cause) }
    }

    /// Exit code 3: nothing is known yet of what was to be checked.
    pub(crate) fn unfinished(cause: impl fmt::Display) -> Self {
        Self { exit: Exit::Unfinished, ..Self::new(cause) }
    }

    /// The same with what to do next, if the cause does not say it.
    pub(crate) fn hint(self, hint: impl fmt::Display) -> Self {
        Self { hint: Some(hint.to_string()), ..self }
    }

    /// The same, told in a line of JSON, as a server's log has them.
    pub(crate) fn in_json(self) -> Self {
        Self { json: true, ..self }
    }

    /// A failure to write to stdout. A reader that has had enough (`| head -1`) is no error.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self { exit: Exit::Quiet, ..Self::new("") },
            _ => Self::new(format_args!("cannot write to stdout: {error}")),
        }
    }

    /// What went wrong, without what to do next.
    pub(crate) fn cause(&self) -> &str {
        &self.message
    }

    /// Says it on stderr; gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self.exit {
            Exit::Quiet => {}
            _ if self.json => anstream::eprint!("{}", self.line()),
            _ => anstream::eprint!("{}", self.painted()),
        }
        ExitCode::from(self.exit as u8)
    }

    fn line(&self) -> String {
        let mut fields = serde_json::Map::new();
        if let Some(hint) = &self.hint {
            fields.insert("hint".to_owned(), hint.as_str().into());
        }
        floe_server::json_line("ERROR", &self.message, fields)
    }

    fn painted(&self) -> String {
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let bold = anstyle::Style::new().bold();
        let mut text = format!("{red}error:{red:#} {}\n", self.message);
        if let Some(hint) = &self.hint {
            text += &format!(" {bold}hint:{bold:#} {hint}\n");
        }
        text
    }
}

/// What was asked for is wrong.
macro_rules! usage {
    ($($error:ty),+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::usage(error)
            }
        }
    )+};
}

usage!(
    floe::NameError,
    floe::IdError,
    floe::LayoutError,
    floe::DefinitionError,
    floe::form::FormDefinitionError
);

impl From<floe::ledger::LedgerError> for Failure {
    fn from(error: floe::ledger::LedgerError) -> Self {
        Self::new(error)
    }
}

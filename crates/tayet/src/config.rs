//! Settings from a file, the environment and the command line.

mod config_error;
mod limit_overlay;

use std::path::Path;
use std::str::FromStr;

use tayet_engine::{Address, EngineConfig, ExecutionModel, IoDriver};
use toml::Value;

pub use config_error::ConfigError;

use self::config_error::Source;
use self::limit_overlay::LimitOverlay;
use crate::{
    AccessLog, AccessLogFormat, DEFAULT_ACCESS_LOG_QUEUE_ENTRIES, ForwardedFields, Router, TrustedProxies,
};

/// Settings from a TOML file, the environment and elsewhere, for [`Server::config`](crate::Server::config).
///
/// What is set later prevails; what is not set stays as the builder has it. In the environment, a setting's name is in
/// capitals behind `TAYET_`, and a list is separated by commas.
///
/// | name | value |
/// | --- | --- |
/// | `listen` | addresses, as for [`Server::bind`](crate::Server::bind) |
/// | `execution` | `task-pool`, `task-pool:THREADS`, `thread-pool:THREADS` or `inline` |
/// | `io` | `auto` (the default), `epoll` or `io_uring`; see [`IoDriver`](crate::IoDriver) |
/// | `loops` | how many event loops |
/// | `proxy_protocol` | `true` or `false` |
/// | `trusted_proxies` | networks and addresses, and `unix` for Unix sockets; see [`TrustedProxies`] |
/// | `forwarded_fields` | `x-forwarded` (the default) or `forwarded` |
/// | `access_log` | `off` (the default), `common`, `combined` or `json`; see [`AccessLog`] |
/// | `access_log_file` | a file in place of the standard output |
/// | `access_log_queue_entries` | lines that may wait to be written; default 8,192 |
///
/// and the fields of [`Limits`](crate::Limits), by their names.
///
/// A name that is unknown is an error that names the nearest known one. In the environment that holds for names that are
/// nearly right; others there may be somebody else's (container platforms make up some), and are only logged. `TAYET_CONFIG`
/// and `TAYET_LOG` are left to the program.
///
/// ```
/// use tayet::{Config, Router, Server};
///
/// # fn main() -> tayet::Result<()> {
/// let config = Config::new()
///     .with_toml("head_timeout_ms = 5000\nlisten = ['127.0.0.1:0']")?
///     .with_environment()?
///     .with("execution", "thread-pool:8")?;
/// let server = Server::new(Router::new()).config(&config)?;
/// # let _ = server;
///
/// let error = Config::new().with_toml("head_timeout = 5").unwrap_err();
/// assert_eq!(error.to_string(), "`head_timeout` is no setting; the nearest one is `head_timeout_ms`");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Config {
    listen: Option<Vec<Address>>,
    execution: Option<ExecutionModel>,
    io: Option<IoDriver>,
    loops: Option<usize>,
    proxy_protocol: Option<bool>,
    trusted_proxies: Option<Vec<String>>,
    forwarded_fields: ForwardedFields,
    access_log: AccessLogSetting,
    access_log_file: Option<String>,
    access_log_queue_entries: Option<usize>,
    limits: LimitOverlay,
}

#[derive(Clone, Copy, Debug, Default)]
enum AccessLogSetting {
    #[default]
    Unset,
    Off,
    On(AccessLogFormat),
}

/// The settings beside the limits.
const NAMES: [&str; 10] = [
    "listen",
    "execution",
    "io",
    "loops",
    "proxy_protocol",
    "trusted_proxies",
    "forwarded_fields",
    "access_log",
    "access_log_file",
    "access_log_queue_entries",
];

const PREFIX: &str = "TAYET_";

/// What the program itself may read.
const OTHER_VARIABLES: [&str; 2] = ["TAYET_CONFIG", "TAYET_LOG"];

/// An unknown variable that differs from a known one by no more than this many letters is taken for a mistake.
const MAX_MISTAKEN_LETTERS: usize = 2;

impl Config {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with the settings of a TOML file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or as [`Config::with_toml`]; the message names the file.
    pub fn with_file(self, path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::unreadable(path, error))?;
        self.with_table(&text, &Source::File(path.to_owned()))
    }

    /// The same with the settings of a TOML text.
    ///
    /// # Errors
    ///
    /// When it is not TOML, a name is unknown, or a value is not of its type.
    pub fn with_toml(self, text: &str) -> Result<Self, ConfigError> {
        self.with_table(text, &Source::Given)
    }

    /// The same with the settings of the process's environment.
    ///
    /// # Errors
    ///
    /// When a name is nearly right, or a value is not of its type.
    pub fn with_environment(self) -> Result<Self, ConfigError> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        });
        self.with_variables(variables)
    }

    /// The same with the settings of these variables, such as `TAYET_LISTEN`.
    ///
    /// # Errors
    ///
    /// As [`Config::with_environment`].
    pub fn with_variables(
        mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        for (variable, text) in variables {
            let Some(name) = variable.strip_prefix(PREFIX).map(str::to_ascii_lowercase) else { continue };
            if OTHER_VARIABLES.contains(&variable.as_str()) {
                continue;
            }
            match nearest(&name) {
                (0, _) => self.set(&name, value_of(&text), &Source::Variable)?,
                (distance, nearest) if distance <= MAX_MISTAKEN_LETTERS => {
                    return Err(ConfigError::unknown(&Source::Variable, &name, nearest));
                }
                _ => tracing::warn!("{variable} is no setting of the server; it is passed over"),
            }
        }
        Ok(self)
    }

    /// The same with one setting from its text, as in the environment.
    ///
    /// # Errors
    ///
    /// When the name is unknown, or the value is not of its type.
    pub fn with(mut self, name: &str, text: &str) -> Result<Self, ConfigError> {
        self.set(name, value_of(text), &Source::Given)?;
        Ok(self)
    }

    fn with_table(mut self, text: &str, source: &Source) -> Result<Self, ConfigError> {
        let table = text.parse::<toml::Table>().map_err(|error| ConfigError::malformed(source, &error))?;
        for (name, value) in table {
            self.set(&name, value, source)?;
        }
        Ok(self)
    }

    fn set(&mut self, name: &str, value: Value, source: &Source) -> Result<(), ConfigError> {
        let set = match name {
            "listen" => parsed_list(&value).map(|list| self.listen = Some(list)),
            "execution" => parsed(&value).map(|model| self.execution = Some(model)),
            "io" => parsed(&value).map(|io| self.io = Some(io)),
            "loops" => count(&value).map(|loops| self.loops = Some(loops)),
            "proxy_protocol" => flag(&value).map(|flag| self.proxy_protocol = Some(flag)),
            "trusted_proxies" => networks(&value).map(|list| self.trusted_proxies = Some(list)),
            "forwarded_fields" => forwarded_fields(&value).map(|fields| self.forwarded_fields = fields),
            "access_log" => access_log(&value).map(|setting| self.access_log = setting),
            "access_log_file" => text(&value).map(|file| self.access_log_file = Some(file.to_owned())),
            "access_log_queue_entries" => {
                count(&value).map(|entries| self.access_log_queue_entries = Some(entries))
            }
            limit if LimitOverlay::names().any(|known| known == limit) => self.limits.set(limit, &value),
            unknown => return Err(ConfigError::unknown(source, unknown, nearest(unknown).1)),
        };
        set.map_err(|reason| ConfigError::invalid(source, name, reason))
    }

    /// Puts what is set in the place of what the engine has.
    pub(crate) fn apply(&self, engine: &mut EngineConfig) -> Result<(), ConfigError> {
        engine.listen = self.listen.clone().unwrap_or(std::mem::take(&mut engine.listen));
        engine.execution = self.execution.unwrap_or(engine.execution);
        engine.io = self.io.unwrap_or(engine.io);
        engine.loops = self.loops.unwrap_or(engine.loops);
        engine.proxy_protocol = self.proxy_protocol.unwrap_or(engine.proxy_protocol);
        engine.limits = self.limits.over(&engine.limits);
        engine
            .limits
            .validate()
            .map_err(|limit| ConfigError::invalid(&Source::Given, limit.name, limit.reason.to_owned()))
    }

    /// Puts what is set around a router.
    pub(crate) fn wrap(&self, mut router: Router) -> Result<Router, ConfigError> {
        match (self.access_log, &self.access_log_file) {
            (AccessLogSetting::On(format), file) => {
                router = router.layer(self.open_access_log(format, file.as_deref())?)
            }
            (AccessLogSetting::Unset, Some(_)) => {
                let reason = "`access_log` does not say in which format".to_owned();
                return Err(ConfigError::invalid(&Source::Given, "access_log_file", reason));
            }
            (AccessLogSetting::Unset | AccessLogSetting::Off, _) => {}
        }
        if let Some(texts) = &self.trusted_proxies {
            let proxies = proxies(texts)
                .map_err(|reason| ConfigError::invalid(&Source::Given, "trusted_proxies", reason))?;
            router = router.layer(proxies.read(self.forwarded_fields));
        }
        Ok(router)
    }

    fn open_access_log(&self, format: AccessLogFormat, file: Option<&str>) -> Result<AccessLog, ConfigError> {
        let entries = self.access_log_queue_entries.unwrap_or(DEFAULT_ACCESS_LOG_QUEUE_ENTRIES);
        let log = AccessLog::new(format).queue_entries(entries);
        let Some(file) = file else { return Ok(log) };
        log.to_file(file)
            .map_err(|error| ConfigError::invalid(&Source::Given, "access_log_file", error.to_string()))
    }
}

/// The nearest known name, with how far it is.
fn nearest(name: &str) -> (usize, String) {
    let known = NAMES.into_iter().chain(LimitOverlay::names());
    let nearest = known.map(|known| (distance(name, known), known.to_owned())).min();
    nearest.expect("there are names")
}

/// How many letters must be put in, taken out or changed to make one text the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// What a text means by its looks.
fn value_of(text: &str) -> Value {
    match (text.parse::<i64>(), text.parse::<bool>()) {
        (Ok(number), _) => Value::Integer(number),
        (_, Ok(flag)) => Value::Boolean(flag),
        _ => Value::String(text.to_owned()),
    }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("it must be text, not {value}"))
}

fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("it must be true or false, not {value}"))
}

fn count(value: &Value) -> Result<usize, String> {
    let count = value.as_integer().and_then(|number| usize::try_from(number).ok()).filter(|&count| count > 0);
    count.ok_or_else(|| format!("it must be an integer from 1 upwards, not {value}"))
}

fn parsed<T: FromStr<Err: std::fmt::Display>>(value: &Value) -> Result<T, String> {
    text(value)?.parse().map_err(|error: T::Err| error.to_string())
}

/// An array of texts, or one text with commas.
fn texts(value: &Value) -> Result<Vec<&str>, String> {
    match value {
        Value::Array(array) => array.iter().map(text).collect(),
        _ => Ok(text(value)?.split(',').map(str::trim).filter(|text| !text.is_empty()).collect()),
    }
}

fn parsed_list<T: FromStr<Err: std::fmt::Display>>(value: &Value) -> Result<Vec<T>, String> {
    let parse = |text: &str| text.parse().map_err(|error: T::Err| error.to_string());
    texts(value)?.into_iter().map(parse).collect()
}

fn networks(value: &Value) -> Result<Vec<String>, String> {
    let texts: Vec<String> = texts(value)?.into_iter().map(str::to_owned).collect();
    proxies(&texts)?;
    Ok(texts)
}

fn proxies(texts: &[String]) -> Result<TrustedProxies, String> {
    let (unix, networks): (Vec<_>, Vec<_>) = texts.iter().partition(|text| *text == "unix");
    let proxies = TrustedProxies::new(networks).map_err(|error| error.to_string())?;
    Ok(if unix.is_empty() { proxies } else { proxies.trust_unix() })
}

fn forwarded_fields(value: &Value) -> Result<ForwardedFields, String> {
    match text(value)? {
        "x-forwarded" => Ok(ForwardedFields::XForwarded),
        "forwarded" => Ok(ForwardedFields::Forwarded),
        other => Err(format!("it must be x-forwarded or forwarded, not '{other}'")),
    }
}

fn access_log(value: &Value) -> Result<AccessLogSetting, String> {
    match value.as_str() {
        Some("off") => Ok(AccessLogSetting::Off),
        _ => parsed(value).map(AccessLogSetting::On),
    }
}

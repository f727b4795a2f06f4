//! Which content codings a client takes.

use crate::Request;

/// The qualities that an `Accept-Encoding` gives to content codings (RFC 9110 section 12.5.3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct AcceptEncoding<'r>(Option<&'r str>);

/// A quality of 1, in thousandths.
const MAX_QUALITY: u16 = 1_000;

impl<'r> AcceptEncoding<'r> {
    pub(crate) fn of(request: &'r Request) -> Self {
        Self(request.header("accept-encoding"))
    }

    /// How much the client wants this coding (named in small letters), in thousandths; 0 if it does not take it.
    pub(crate) fn quality(self, coding: &str) -> u16 {
        let mut of_others = None;
        for (name, quality) in self.members() {
            if name.eq_ignore_ascii_case(coding) {
                return quality;
            }
            if name == "*" {
                of_others = Some(quality);
            }
        }
        // What is not named is not taken, but for what is no coding at all.
        of_others.unwrap_or(if coding == "identity" { 1 } else { 0 })
    }

    fn members(self) -> impl Iterator<Item = (&'r str, u16)> {
        self.0.into_iter().flat_map(|list| list.split(',')).filter_map(|member| {
            let (name, parameters) = member.split_once(';').unwrap_or((member, ""));
            let name = name.trim();
            (!name.is_empty()).then(|| (name, quality_of(parameters)))
        })
    }
}

/// The `q` among a member's parameters, in thousandths; what is malformed is not wanted.
fn quality_of(parameters: &str) -> u16 {
    let weight = parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let Some((_, value)) = weight else { return MAX_QUALITY };
    match value.trim().parse::<f32>() {
        Ok(quality) if (0.0..=1.0).contains(&quality) => (quality * f32::from(MAX_QUALITY)).round() as u16,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualities_are_those_of_the_list() {
        for (list, coding, quality) in [
            (None, "gzip", 0),
            (None, "identity", 1),
            (Some(""), "gzip", 0),
            (Some("gzip"), "gzip", 1_000),
            (Some("GZip;Q=0.5, br"), "gzip", 500),
            (Some("gzip ; a=b ; q=0.123,br"), "gzip", 123),
            (Some("gzip;q=0"), "gzip", 0),
            (Some("gzip;q=0, *"), "gzip", 0),
            (Some("gzip;q=0, *;q=0.2"), "br", 200),
            (Some("*;q=0"), "identity", 0),
            (Some("identity;q=0"), "identity", 0),
            (Some(", ,br"), "br", 1_000),
            (Some("br;q=2"), "br", 0),
            (Some("br;q=high"), "br", 0),
        ] {
            assert_eq!(AcceptEncoding(list).quality(coding), quality, "{list:?} {coding}");
        }
    }
}

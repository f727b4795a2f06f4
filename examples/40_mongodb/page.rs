//! An office as a page.

use maud::{DOCTYPE, Markup, html};

use super::office::OfficeLocation;

/// `html!` escapes whatever is put into it.
pub(crate) fn page(office: &OfficeLocation) -> String {
    let page: Markup = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (office.name) } }
            body {
                h1 { (office.name) }
                address style="white-space: pre-line" { (office.address) }
                @if let (Some(latitude), Some(longitude)) = (office.latitude, office.longitude) {
                    p { (latitude) "°, " (longitude) "°" }
                }
                @if let Some(email) = &office.email { p { a href={ "mailto:" (email) } { (email) } } }
                @if let Some(phone) = &office.phone { p { (phone) } }
            }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_texts_and_no_markup_of_theirs() {
        let mut office = OfficeLocation::sample();
        office.email = Some("\"><script>".to_owned());
        let page = page(&office);
        assert!(page.contains("Zürich &quot;Loom &amp; Shuttle&quot; &lt;HQ&gt;"), "{page}");
        assert!(page.contains(r#"href="mailto:&quot;&gt;&lt;script&gt;""#), "{page}");
    }
}

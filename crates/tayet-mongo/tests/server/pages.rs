//! Paging by a key.

use serde::{Deserialize, Serialize};
use tayet_mongo::{Collection, Id, MongoErrorKind, PageQuery, doc};

use crate::ferretdb::TestDatabase;

#[derive(Debug, Serialize, Deserialize)]
struct Member {
    #[serde(rename = "_id")]
    id: Id,
    name: String,
    about: About,
}

#[derive(Debug, Serialize, Deserialize)]
struct About {
    age: i32,
}

fn members(database: &TestDatabase) -> Collection<Member> {
    let members = database.db().collection::<Member>("members");
    let member = |number: i32| {
        let about = About { age: number % 4 };
        Member { id: Id::new(), name: format!("member {number:02}"), about }
    };
    members.insert_many((0..23).map(member)).unwrap();
    members
}

/// The names on all pages.
fn walk(members: &Collection<Member>, limit: u32, key: &str, is_descending: bool) -> Vec<String> {
    let (mut names, mut page) = (Vec::new(), PageQuery { after: None, limit: Some(limit) });
    loop {
        let paged = members.page(doc! { "name": { "$ne": "member 11" } }, page.clone()).by(key);
        let got = if is_descending { paged.descending() } else { paged }.run().unwrap();
        assert!(got.items.len() <= limit as usize);
        names.extend(got.items.into_iter().map(|member| member.name));
        match got.next {
            None => return names,
            next => page.after = next,
        }
    }
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn every_document_is_on_one_page() {
    let database = TestDatabase::new("pages");
    let members = members(&database);
    let all = (0..23).filter(|number| *number != 11).map(|number| format!("member {number:02}"));
    let all = all.collect::<Vec<_>>();
    for limit in [1, 5, 11, 22, 23, 100] {
        assert_eq!(walk(&members, limit, "name", false), all, "{limit}");
        assert_eq!(walk(&members, limit, "_id", false), all, "{limit}");
        let mut descending = walk(&members, limit, "name", true);
        descending.reverse();
        assert_eq!(descending, all, "{limit}");
        // Many have the same age.
        let mut by_age = walk(&members, limit, "about.age", false);
        by_age.sort();
        assert_eq!(by_age, all, "{limit}");
    }
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn what_comes_before_a_page_meanwhile_shifts_nothing() {
    let database = TestDatabase::new("shifting_pages");
    let members = members(&database);
    let first = members.page(doc! {}, PageQuery { after: None, limit: Some(10) }).by("name").run().unwrap();
    members.delete_one(doc! { "name": "member 03" }).unwrap();
    let page = PageQuery { after: first.next, limit: Some(3) };
    let second = members.page(doc! {}, page).by("name").run().unwrap();
    assert_eq!(second.items[0].name, "member 10");
    let forged = PageQuery { after: Some("nonsense".to_owned()), limit: None };
    assert_eq!(members.page(doc! {}, forged).run().unwrap_err().kind(), MongoErrorKind::InvalidPage);
}

//! The offices: which paths there are, and what is done with the collection.

mod office;
mod page;

use std::sync::LazyLock;

use serde::Deserialize;
use tayet::{Handler, Html, IntoResponse, Json, Path, Query, Router, StatusCode, get, header};
use tayet_mongo::{Collection, Db, Document, Id, Index, Later, Mongo, Or404, Page, PageQuery, doc};

use self::office::OfficeLocation;

const COLLECTION: &str = "offices";

/// How many requests ask the database at the same time, of each kind; others wait without a thread.
const ASKING_AT_ONCE: usize = 16;

/// All routes. No tenant has two offices of one name.
pub(crate) fn router(mongo: Mongo) -> Router {
    let one_a_name = Index::on(doc! { "tenantId": 1, "name": 1 }).unique();
    Router::new()
        .get("/office/json", constant)
        .route("/mongo/office", get(list.concurrency_limit(ASKING_AT_ONCE)).post(add))
        .route("/mongo/office/{id}", get(one.concurrency_limit(ASKING_AT_ONCE)).put(replace).delete(remove))
        .get("/mongo/office/{id}/later", one_later)
        .get("/mongo/office/{id}/html", html.concurrency_limit(ASKING_AT_ONCE))
        .with_state(mongo.index(COLLECTION, one_a_name))
}

/// An office that is in no database.
fn constant() -> Json<&'static OfficeLocation> {
    static SAMPLE: LazyLock<OfficeLocation> = LazyLock::new(OfficeLocation::sample);
    Json(&SAMPLE)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    tenant_id: Option<Id>,
}

/// A page of offices, of one tenant or of all.
fn list(
    db: Db,
    Query(Wanted { tenant_id }): Query<Wanted>,
    Query(page): Query<PageQuery>,
) -> tayet::Result<Json<Page<OfficeLocation>>> {
    let filter = tenant_id.map_or_else(Document::new, |id| doc! { "tenantId": id });
    Ok(Json(offices(&db).page(filter, page).run()?))
}

/// 409 where the office's id or its tenant's name for it is taken.
fn add(db: Db, Json(office): Json<OfficeLocation>) -> tayet::Result<impl IntoResponse> {
    offices(&db).insert_one(&office)?;
    let location = format!("/mongo/office/{}", office.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(office)))
}

fn one(db: Db, Path(id): Path<Id>) -> tayet::Result<Json<OfficeLocation>> {
    Ok(Json(find(&db, id)?))
}

/// The same without a thread that waits: the query is the handler's last act, and it is returned.
fn one_later(db: Db, Path(id): Path<Id>) -> Later<Json<OfficeLocation>> {
    offices(&db).later().find_by_id(id).or_404().json()
}

fn html(db: Db, Path(id): Path<Id>) -> tayet::Result<Html<String>> {
    Ok(Html(page::page(&find(&db, id)?)))
}

/// The path says which office it is, whatever the body says.
fn replace(
    db: Db,
    Path(id): Path<Id>,
    Json(office): Json<OfficeLocation>,
) -> tayet::Result<Json<OfficeLocation>> {
    let office = OfficeLocation { id, ..office };
    let replaced = offices(&db).replace_one(doc! { "_id": id }, &office)?;
    (replaced.matched_count > 0).then_some(Json(office)).or_404()
}

fn remove(db: Db, Path(id): Path<Id>) -> tayet::Result<StatusCode> {
    let was_there = offices(&db).delete_one(doc! { "_id": id })?;
    was_there.then_some(StatusCode::NO_CONTENT).or_404()
}

fn find(db: &Db, id: Id) -> tayet::Result<OfficeLocation> {
    offices(db).find_by_id(id)?.or_404()
}

fn offices(db: &Db) -> Collection<OfficeLocation> {
    db.collection(COLLECTION)
}

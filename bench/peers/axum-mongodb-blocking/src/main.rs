//! What it takes axum to have its handlers block: the driver's blocking face, on the runtime's blocking threads.

#[path = "../../axum-mongodb/src/office.rs"]
mod office;

use std::{env, error::Error};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::serve::ListenerExt;
use axum::{Json, Router, routing::get};
use mongodb::bson::{doc, oid::ObjectId};
use mongodb::sync::{Client, Collection};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use crate::office::Office;

async fn find(
    State(offices): State<Collection<Office>>,
    Path(id): Path<String>,
) -> Result<Json<Office>, StatusCode> {
    let id = ObjectId::parse_str(id).map_err(|_| StatusCode::BAD_REQUEST)?;
    let found = spawn_blocking(move || offices.find_one(doc! { "_id": id }).run())
        .await
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?
        .map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    found.map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn serve(address: &str, offices: Collection<Office>) -> Result<(), Box<dyn Error>> {
    let app = Router::new().route("/mongo/office/{id}", get(find)).with_state(offices);
    let listener = TcpListener::bind(address).await?.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().collect();
    let [_, address, uri] = &arguments[..] else {
        return Err("usage: peer-axum-mongodb-blocking ADDRESS MONGODB_URI".into());
    };
    // The blocking driver has a runtime of its own, and must not be made within another.
    let database = Client::with_uri_str(uri)?.default_database().ok_or("the URI names no database")?;
    let offices = database.collection("offices");
    // As many workers as cores is the runtime's default.
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(address, offices))
}

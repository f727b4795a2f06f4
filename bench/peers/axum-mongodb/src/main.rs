mod office;

use std::{env, error::Error, sync::Arc};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::serve::ListenerExt;
use axum::{Json, Router, routing::get};
use mongodb::bson::{doc, oid::ObjectId};
use mongodb::{Client, Collection};
use tokio::net::TcpListener;

use crate::office::Office;

const OFFICE: &str = include_str!("../../office.json");

#[derive(Clone)]
struct Offices {
    constant: Arc<Office>,
    stored: Collection<Office>,
}

async fn constant(State(offices): State<Offices>) -> Json<Arc<Office>> {
    Json(offices.constant)
}

async fn find(State(offices): State<Offices>, Path(id): Path<String>) -> Result<Json<Office>, StatusCode> {
    let id = ObjectId::parse_str(id).map_err(|_| StatusCode::BAD_REQUEST)?;
    let found =
        offices.stored.find_one(doc! { "_id": id }).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    found.map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn serve(address: &str, uri: &str) -> Result<(), Box<dyn Error>> {
    let client = Client::with_uri_str(uri).await?;
    let database = client.default_database().ok_or("the URI names no database")?;
    let offices = Offices { constant: serde_json::from_str(OFFICE)?, stored: database.collection("offices") };
    let app = Router::new()
        .route("/", get(async || "Hello, World!"))
        .route("/office/json", get(constant))
        .route("/mongo/office/{id}", get(find))
        .with_state(offices);
    let listener = TcpListener::bind(address).await?.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().collect();
    let [_, address, uri] = &arguments[..] else {
        return Err("usage: peer-axum-mongodb ADDRESS MONGODB_URI".into());
    };
    // As many workers as cores is the runtime's default.
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(address, uri))
}

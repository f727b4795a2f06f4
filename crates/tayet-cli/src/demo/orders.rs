//! A small JSON API to try: orders of cloth, kept in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tayet::{IntoResponse, Json, Path, Router, State, StatusCode, get};

/// Most orders that are kept; the oldest is forgotten for a new one.
const MAX_ORDERS: usize = 100;
/// Most letters of a cloth's name.
const MAX_CLOTH_CHARS: usize = 40;
const PRICE_A_METRE: u32 = 12;

pub(crate) fn router() -> Router<Orders> {
    Router::new().route("/", get(list).post(place)).route("/{id}", get(show).delete(cancel))
}

/// The orders so far.
#[derive(Clone, Default)]
pub(crate) struct Orders(Arc<Mutex<Ledger>>);

#[derive(Default)]
struct Ledger {
    last_id: u64,
    orders: VecDeque<Order>,
}

#[derive(Clone, Serialize)]
struct Order {
    id: u64,
    cloth: String,
    metres: u32,
    price: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    cloth: String,
    metres: u16,
}

fn list(State(orders): State<Orders>) -> Json<Vec<Order>> {
    Json(orders.lock().orders.iter().cloned().collect())
}

fn place(State(orders): State<Orders>, Json(wish): Json<Wish>) -> tayet::Result<impl IntoResponse> {
    if wish.cloth.trim().is_empty() || wish.cloth.chars().count() > MAX_CLOTH_CHARS {
        let detail = format!("`cloth` must have 1 to {MAX_CLOTH_CHARS} letters");
        return Err(tayet::Error::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    let order = orders.lock().place(wish);
    Ok((StatusCode::CREATED, [("location", format!("/api/orders/{}", order.id))], Json(order)))
}

fn show(State(orders): State<Orders>, Path(id): Path<u64>) -> Option<Json<Order>> {
    orders.lock().orders.iter().find(|order| order.id == id).cloned().map(Json)
}

fn cancel(State(orders): State<Orders>, Path(id): Path<u64>) -> StatusCode {
    let mut ledger = orders.lock();
    let before = ledger.orders.len();
    ledger.orders.retain(|order| order.id != id);
    if ledger.orders.len() < before { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }
}

impl Orders {
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn place(&mut self, wish: Wish) -> Order {
        self.last_id += 1;
        let metres = u32::from(wish.metres);
        let order = Order { id: self.last_id, cloth: wish.cloth, metres, price: metres * PRICE_A_METRE };
        if self.orders.len() == MAX_ORDERS {
            self.orders.pop_front();
        }
        self.orders.push_back(order.clone());
        order
    }
}

#[cfg(test)]
mod tests {
    use tayet::testing::TestClient;

    use super::*;

    fn client() -> TestClient {
        TestClient::new(Router::new().nest("/api/orders", router().with_state(Orders::default())))
    }

    #[test]
    fn an_order_is_placed_shown_listed_and_cancelled() {
        let client = client();
        let placed = client.post("/api/orders").json(r#"{"cloth":"linen","metres":3}"#).send();
        assert_eq!(placed.status(), StatusCode::CREATED);
        assert_eq!(placed.header("location"), Some("/api/orders/1"));
        let order = r#"{"id":1,"cloth":"linen","metres":3,"price":36}"#;
        assert_eq!(placed.text(), order);
        assert_eq!(client.get("/api/orders/1").send().text(), order);
        assert_eq!(client.get("/api/orders").send().text(), format!("[{order}]"));
        assert_eq!(client.delete("/api/orders/1").send().status(), StatusCode::NO_CONTENT);
        assert_eq!(client.delete("/api/orders/1").send().status(), StatusCode::NOT_FOUND);
        assert_eq!(client.get("/api/orders/1").send().status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn the_oldest_order_is_forgotten_for_one_too_many() {
        let client = client();
        for _ in 0..=MAX_ORDERS {
            client.post("/api/orders").json(r#"{"cloth":"silk","metres":1}"#).send();
        }
        assert_eq!(client.get("/api/orders/1").send().status(), StatusCode::NOT_FOUND);
        assert_eq!(client.get("/api/orders/2").send().status(), StatusCode::OK);
    }

    #[test]
    fn a_cloth_has_a_name_of_bounded_length() {
        let order = |letters| format!(r#"{{"cloth":"{}","metres":1}}"#, "x".repeat(letters));
        for (letters, status) in [(0, 422), (1, 201), (MAX_CLOTH_CHARS, 201), (MAX_CLOTH_CHARS + 1, 422)] {
            assert_eq!(
                client().post("/api/orders").json(order(letters)).send().status(),
                status,
                "{letters}"
            );
        }
    }
}

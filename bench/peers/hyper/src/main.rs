use std::{convert::Infallible, env, time::Duration};

use dataset::Target;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

async fn handle(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    Ok(match Target::parse(target) {
        Target::Hello => answer("text/plain", "Hello, World!"),
        Target::Json { count, m } => {
            let body = serde_json::to_vec(&dataset::answer(count, m)).expect("an answer serialises");
            answer("application/json", body)
        }
        Target::SleepMs(ms) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            answer("text/plain", "ok")
        }
        Target::Unknown => {
            let mut response = Response::default();
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    })
}

fn answer(content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

async fn serve(address: String) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        // Without these two, pipelined answers wait for the client's delayed acknowledgements.
        stream.set_nodelay(true)?;
        let mut http = http1::Builder::new();
        http.pipeline_flush(true);
        tokio::spawn(http.serve_connection(TokioIo::new(stream), service_fn(handle)));
    }
}

fn main() -> std::io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-hyper ADDRESS");
    // As many workers as cores is the runtime's default.
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(address))
}

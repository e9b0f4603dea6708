//! Bodies and answers that are packed.

use axum::http::StatusCode;
use axum::response::Response;
use tower::util::MapResponseLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, NotForContentType, Predicate, SizeAbove};
use tower_http::decompression::RequestDecompressionLayer;

/// Bytes from which an answer is worth packing: what fits into a packet is not.
const PACKED_FROM: u64 = 1_400;

/// What changes an answer's head, and nothing of its body.
type OfHead<B> = MapResponseLayer<fn(Response<B>) -> Response<B>>;

/// Unpacks bodies.
pub(super) fn unpacking() -> RequestDecompressionLayer {
    RequestDecompressionLayer::new().pass_through_unaccepted(true)
}

/// Packs answers. What packs them says 406 where a client takes no packing that there is, and neither the answer as it is; by then the
/// path has done what it was asked to, and the answer is sent as it is, with the path's status.
pub(super) fn packing<P, A>() -> (OfHead<P>, CompressionLayer<And<SizeAbove, NotForContentType>>, OfHead<A>) {
    let packed = SizeAbove::new(PACKED_FROM).and(NotForContentType::SSE);
    (
        MapResponseLayer::new(as_noted),
        CompressionLayer::new().compress_when(packed),
        MapResponseLayer::new(note_status),
    )
}

/// The status that a path has answered with.
#[derive(Clone, Copy)]
struct Answered(StatusCode);

fn note_status<B>(mut response: Response<B>) -> Response<B> {
    let status = response.status();
    response.extensions_mut().insert(Answered(status));
    response
}

/// Gives the path's status back.
fn as_noted<B>(mut response: Response<B>) -> Response<B> {
    if let Some(Answered(status)) = response.extensions_mut().remove() {
        *response.status_mut() = status;
    }
    response
}

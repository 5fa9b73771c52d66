public import RepriseCore
import RepriseWire

/// Where catalogues come from.
public struct CatalogueSource: Sendable {
    enum Answer: Sendable {
        case unchanged
        case catalogue([UInt8], etag: String?)
    }

    let fetch: @Sendable (_ company: String, _ etag: String?) async throws -> Answer

    /// A Reprise server.
    ///
    /// - Parameters:
    ///   - server: `http://` or `https://` with host and port.
    ///   - fetcher: asks it.
    public init(server: String, fetcher: any HTTPFetcher) {
        let base = server.hasSuffix("/") ? String(server.dropLast()) : server
        fetch = { company, etag in
            let answer = try await fetcher.get(
                "\(base)/v1/forms?company=\(company)",
                headers: etag.map { ["if-none-match": $0] } ?? [:],
                limit: FormsLimits.catalogueBytes)
            switch answer.status {
            case 200: return .catalogue(answer.body, etag: answer.headers["etag"])
            case 304: return .unchanged
            case 404: throw RepriseError(.refused, "There are no forms for \(company).")
            default:
                throw RepriseError(
                    .unavailable, "The server answered \(answer.status) about forms.")
            }
        }
    }

    /// A catalogue that the app brings along.
    ///
    /// - Parameter catalogue: of the format `forms/1`.
    public init(catalogue: String) {
        fetch = { _, _ in .catalogue(Array(catalogue.utf8), etag: nil) }
    }
}

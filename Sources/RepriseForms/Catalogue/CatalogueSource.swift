public import RepriseCore
import RepriseWire

/// Where the app's catalogue of forms comes from: a server or the app itself.
public struct CatalogueSource: Sendable {
    enum Answer: Sendable {
        case unchanged
        case catalogue([UInt8], etag: String?)
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.badAddress`, `.malformed`: it will never bring a
    ///   catalogue.
    let check: @Sendable () throws -> Void
    let fetch: @Sendable (_ company: String, _ etag: String?) async throws -> Answer

    /// A Reprise server.
    ///
    /// - Parameters:
    ///   - server: `http://` or `https://` with host and port.
    ///   - transport: performs the requests.
    public init(server: String, transport: any HTTPTransport) {
        check = { try ServerAddress.check(server) }
        let base = server.hasSuffix("/") ? String(server.dropLast()) : server
        fetch = { company, etag in
            let answer = try await transport.fetch(
                HTTPCall(
                    url: "\(base)/v1/forms?company=\(company)",
                    headers: etag.map { ["if-none-match": $0] } ?? [:]),
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
    /// One that cannot be read is refused by the client's `run()`.
    ///
    /// - Parameter catalogue: of the format `forms/1`.
    public init(catalogue: String) {
        check = {
            do {
                _ = try FormsCatalogue(Array(catalogue.utf8))
            } catch {
                throw RepriseError(
                    .malformed, "The catalogue that the app brings along cannot be used.",
                    remedy: "Check it with `reprise forms check`.", cause: error)
            }
        }
        fetch = { _, _ in .catalogue(Array(catalogue.utf8), etag: nil) }
    }
}

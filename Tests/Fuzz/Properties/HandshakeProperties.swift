import NIOCore
import RepriseCore

@testable import RepriseNIO

/// The head of the answer to a handshake.
///
/// The first byte says where the pieces end.
enum HandshakeProperties {
    private enum Answer: Equatable {
        case head(status: Int, fields: [String], rest: [UInt8])
        case malformed
        case incomplete
    }

    static func check(_ bytes: [UInt8]) throws {
        guard let seed = bytes.first else { return }
        let whole = try read([bytes[1...]])
        let cut = try read(pieces(of: bytes[1...], seed: seed))
        try hold(whole == cut, "in one piece \(whole), in several \(cut)")
        guard case .head(_, _, let rest) = whole else { return }
        let head = bytes[1...].dropLast(rest.count)
        try hold(head.suffix(4).elementsEqual("\r\n\r\n".utf8), "the head ends elsewhere")
        try hold(head.count <= HandshakeResponse.maximumBytes, "a head of \(head.count) bytes")
    }

    private static func read(_ pieces: [ArraySlice<UInt8>]) throws -> Answer {
        let request = HandshakeRequest(
            endpoint: try Endpoint("http://127.0.0.1:1/v1/connect"), subprotocol: "reprise.v1")
        var received = ByteBuffer()
        var searched = 0
        for (index, piece) in pieces.enumerated() {
            received.writeBytes(piece)
            do {
                let answer = try HandshakeResponse(readingFrom: &received, searched: &searched)
                guard let head = answer else { continue }
                do { try request.check(head) } catch is RepriseError {}
                return .head(
                    status: head.status, fields: head.fields.map { "\($0.name):\($0.value)" },
                    rest: Array(received.readableBytesView)
                        + pieces[(index + 1)...].flatMap { Array($0) })
            } catch is HandshakeResponse.Malformed {
                return .malformed
            }
        }
        return .incomplete
    }
}

/// URLs of servers.
enum EndpointProperties {
    static func check(_ bytes: [UInt8]) throws {
        let endpoint: Endpoint
        do {
            endpoint = try Endpoint(String(decoding: bytes, as: UTF8.self))
        } catch let error as RepriseError {
            return try hold(error.code == .badConfiguration, "refused with \(error)")
        }
        try hold(!endpoint.host.isEmpty && (1...65_535).contains(endpoint.port), "\(endpoint)")
        try hold(endpoint.target.first == "/", "a target of \(endpoint.target)")
        // Whatever the URL was, the request has the lines and words that we gave it.
        let request = HandshakeRequest(endpoint: endpoint, subprotocol: "reprise.v1").text
        let lines = Array(request.utf8).split(separator: 0x0a, omittingEmptySubsequences: false)
        try hold(lines.count == 9, "a request of \(lines.count) lines")
        try hold(lines[0].count(where: { $0 == 0x20 }) == 2, "a request line of other words")
        let again = try Endpoint("\(endpoint)\(endpoint.target)")
        try hold(again == endpoint, "\(endpoint) reads back as \(again)")
    }
}

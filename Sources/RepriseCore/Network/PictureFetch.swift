import Foundation
import Synchronization

/// Fetches the picture of one notification.
///
/// It comes from hosts that the app has named, bounded in bytes and time. A failure is no picture.
package final class PictureFetch: Sendable {
    /// The most bytes of a picture.
    package static let bytes = 262_144
    /// How long fetching one may take, from connecting to its last byte.
    package static let timeout = Duration.seconds(5)
    /// What its `Content-Type` may be, and how its content begins then.
    package static let types: [String: [UInt8]] = [
        "image/png": [0x89, 0x50, 0x4e, 0x47], "image/jpeg": [0xff, 0xd8, 0xff],
    ]

    private let hosts: Set<String>
    private let transport: any HTTPTransport
    private let timeout: Duration
    private let ended = Race<[UInt8]?>()

    /// - Parameters:
    ///   - hosts: the hosts from which pictures may come; others learn nothing of the device.
    ///   - transport: sends the request.
    ///   - timeout: how long it may take.
    package init(
        from hosts: Set<String>, by transport: any HTTPTransport,
        timeout: Duration = PictureFetch.timeout
    ) {
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.transport = transport
        self.timeout = timeout
    }

    /// Fetches it; once.
    ///
    /// - Parameter address: an `https` URL; nil: there is none.
    /// - Returns: a PNG or JPEG file; nil for another host, after the time limit or
    ///   ``timeWillExpire()``, and for everything else that is no picture.
    package func picture(_ address: String?) async -> [UInt8]? {
        guard let address, isAllowed(address) else { return nil }
        let fetching = Task { [transport, timeout, ended] in
            let answer = try? await transport.fetch(
                HTTPCall(url: address, timeout: timeout), limit: Self.bytes, timeout: timeout)
            ended.end(.success(answer.flatMap { Self.file(in: $0) }))
        }
        defer { fetching.cancel() }
        return try? await ended.value()
    }

    /// The system's time is nearly over: there is no picture, unless it is there.
    package func timeWillExpire() { ended.end(.success(nil)) }

    private func isAllowed(_ address: String) -> Bool {
        guard let url = URL(string: address), url.scheme?.lowercased() == "https", url.user == nil,
            let host = url.host()?.lowercased()
        else { return false }
        return hosts.contains(host)
    }

    private static func file(in answer: HTTPAnswer) -> [UInt8]? {
        let type = answer.headers["content-type"]?.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard answer.status == 200, let beginning = type.flatMap({ types[$0] }),
            answer.body.starts(with: beginning)
        else { return nil }
        return answer.body
    }
}

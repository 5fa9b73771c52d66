import Foundation
import NIOCore
import NIOHTTP1
import RepriseCore
import Synchronization

/// Answers the requests of one connection after the other, as APNs does.
struct PushAnswers: Sendable {
    let folder: PhoneFolder
    let address: PushEndpoint.Address

    private typealias Refusal = PushRefusal

    func serve(_ connection: NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>)
        async throws
    {
        try await connection.executeThenClose { inbound, outbound in
            var head: HTTPRequestHead?
            var body: [UInt8] = []
            for try await part in inbound {
                switch part {
                case .head(let new): (head, body) = (new, [])
                case .body(let piece):
                    // One byte beyond the limit is kept, so that the excess is detected.
                    let room = PhonePush.payloadBytes + 1 - body.count
                    body += piece.readableBytesView.prefix(room)
                case .end:
                    guard let request = head else { return }
                    let isLast = !request.isKeepAlive
                    try await answer(request, body, outbound)
                    if isLast { return }
                }
            }
        }
    }

    private func answer(
        _ request: HTTPRequestHead, _ body: [UInt8],
        _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    ) async throws {
        var headers = Dictionary(
            request.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
        let id = headers["apns-id"] ?? UUID().uuidString.lowercased()
        headers["apns-id"] = id
        var status = HTTPResponseStatus.ok
        var answer: [UInt8] = []
        do {
            try await take(request, body, headers.filter { $0.key.hasPrefix("apns-") })
        } catch {
            status = HTTPResponseStatus(statusCode: error.reason.status)
            answer = (try? PhoneJSON.encode(Problem(error))) ?? []
        }
        let lines = HTTPHeaders([
            ("apns-id", id), ("content-length", "\(answer.count)"),
            ("content-type", "application/json"),
        ])
        try await outbound.write(
            .head(HTTPResponseHead(version: request.version, status: status, headers: lines)))
        try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: answer))))
        try await outbound.write(.end(nil))
    }

    /// APNs' fields of an error, and a sentence for people.
    private struct Problem: Encodable {
        let reason: String
        let message: String

        init(_ refusal: PushRefusal) {
            reason = refusal.reason.name
            message = refusal.message
        }
    }

    private func take(
        _ request: HTTPRequestHead, _ body: [UInt8], _ headers: [String: String]
    ) async throws(PushRefusal) {
        let token = try Self.token(request)
        _ = try PhonePush(payload: body, headers: headers)
        let app: String?
        do {
            let phone = try await PhoneControl.connect(to: folder)
            defer { phone.close() }
            let apps = try await phone.status().apps
            app = apps.first { address.token(of: $0.id) == token }?.id
            if let app, headers["apns-topic"].map({ $0 == app }) ?? true {
                let text = String(decoding: body, as: UTF8.self)
                try await phone.ask(.push(app: app, payload: text, headers: headers))
                return
            }
        } catch {
            throw PushRefusal(.shutdown, "The phone does not take it now.")
        }
        guard app != nil else {
            throw PushRefusal(.unregistered, "No app on this phone has this token.")
        }
        throw PushRefusal(.deviceTokenNotForTopic, "apns-topic names another app.")
    }

    private static func token(_ request: HTTPRequestHead) throws(PushRefusal) -> String {
        let prefix = "/3/device/"
        guard request.uri.hasPrefix(prefix) else {
            throw PushRefusal(.badPath, "The path is not /3/device/TOKEN.")
        }
        guard request.method == .POST else {
            throw PushRefusal(.methodNotAllowed, "Only POST is.")
        }
        let token = request.uri.dropFirst(prefix.count).lowercased()
        guard token.count == 64, token.allSatisfy(\.isHexDigit) else {
            throw PushRefusal(.badDeviceToken, "A token has 64 hexadecimal digits.")
        }
        return token
    }
}

/// Counts the connections that are open.
final class PushConnections: Sendable {
    private let count = Mutex(0)
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Whether one more fits; then it is counted.
    func enter() -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    func leave() { count.withLock { $0 -= 1 } }
}

import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseFakes
import RepriseNIO
import ReprisePhone

/// The stand-in for Apple's service, which brings the pushes that it accepts to phones.
struct NoticesApple: Sendable {
    static let topic = "org.example.chat"

    let apns: FakeAPNs
    private let folder: URL
    private let service: FakePushServer
    private let certificate: FakePushServer.Certificate
    private let pushes: AsyncStream<FakeRequest>
    /// Where phones take pushes, by their apps' tokens.
    private let phones = Shared<[String: String]>([:])

    /// Starts it, with its keys in the folder.
    init(in folder: URL) async throws {
        let apns = FakeAPNs(topic: Self.topic)
        let (pushes, taken) = AsyncStream<FakeRequest>.makeStream(
            bufferingPolicy: .bufferingNewest(10_000))
        (self.apns, self.folder, self.pushes) = (apns, folder, pushes)
        certificate = try .make(in: folder)
        service = try await FakePushServer.start(certificate) { request in
            let answer = apns.answer(request)
            if case .status(200, _, _) = answer { taken.yield(request) }
            return answer
        }
        let key = apns.makeKey("KEY0000001", team: "TEAM000001")
        try Data(key.utf8).write(to: folder.appendingPathComponent("AuthKey.p8"))
    }

    /// What a server needs to reach it.
    var options: [String] {
        [
            "--apns-key", folder.appendingPathComponent("AuthKey.p8").path,
            "--apns-key-id", "KEY0000001", "--apns-team", "TEAM000001",
            "--apns-topic", Self.topic, "--apns-environment", service.url,
            "--apns-ca", certificate.certificate,
        ]
    }

    /// It ends each connection, or answers again.
    func setDown(_ isDown: Bool) {
        guard isDown else { return apns.script(nil) }
        apns.script { _, _ in .cut }
        service.cutAll()
    }

    func end() async { await service.stop() }

    /// Takes the pushes of an app on a phone.
    ///
    /// - Returns: the app's token.
    func install(_ app: String, at address: PushEndpoint.Address) -> String {
        let token = address.token(of: app)
        phones.update { $0[token] = address.url }
        apns.install(token)
        return token
    }

    /// Delivers pushes, one after the other, until the task is cancelled.
    func deliver() async {
        for await push in pushes {
            let token = push.path.split(separator: "/").last.map(String.init) ?? ""
            guard let url = phones.value[token] else { continue }
            var headers = Dictionary(
                push.headers.filter { $0.name.hasPrefix("apns-") }.map { ($0.name, $0.value) }
            ) { first, _ in first }
            // On the phone each app of the demo is one of its own.
            headers["apns-topic"] = nil
            let call = HTTPCall(
                method: "POST", url: url + push.path, headers: headers,
                body: .bytes(push.body))
            _ = try? await NIOTransport().fetch(call, limit: 65_536)
        }
    }
}

import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseFakes
import RepriseNIO
import ReprisePhone

/// The stand-in for Apple's service, which brings the pushes that it accepts to the phone.
struct NoticesApple: Sendable {
    static let topic = "org.example.chat"

    let apns: FakeAPNs
    private let folder: URL
    private let service: FakePushServer
    private let certificate: FakePushServer.Certificate
    private let pushes: AsyncStream<FakeRequest>

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

    /// Delivers pushes to the phone, one after the other, until the task is cancelled.
    func deliver(to address: PushEndpoint.Address) async {
        for await push in pushes {
            var headers = Dictionary(
                push.headers.filter { $0.name.hasPrefix("apns-") }.map { ($0.name, $0.value) }
            ) { first, _ in first }
            // On the phone each app of the demo is one of its own.
            headers["apns-topic"] = nil
            let call = HTTPCall(
                method: "POST", url: address.url + push.path, headers: headers,
                body: .bytes(push.body))
            _ = try? await NIOTransport().fetch(call, limit: 65_536)
        }
    }
}

import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Pushes over HTTP")
struct PushEndpointLiveTests {
    private struct Answer {
        var status: Int
        var reason: String?
        var id: String?
    }

    private static func send(
        _ address: String, _ path: String, _ body: String, headers: [String: String] = [:],
        method: String = "POST"
    ) async throws -> Answer {
        let url = try #require(URL(string: address + path))
        var request = URLRequest(url: url, timeoutInterval: 20)
        request.httpMethod = method
        if method != "GET" { request.httpBody = Data(body.utf8) }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        let answer = try #require(response as? HTTPURLResponse)
        let json = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        return Answer(
            status: answer.statusCode, reason: json?["reason"] as? String,
            id: answer.value(forHTTPHeaderField: "apns-id"))
    }

    /// Plays beside a phone and its endpoint.
    private static func play(_ body: (Phone, PushEndpoint.Address) async throws -> Void)
        async throws
    {
        try await ProbePhone.play { phone in
            let (ready, isReady) = AsyncStream<PushEndpoint.Address>.makeStream()
            let endpoint = Task {
                try await PushEndpoint(folder: phone.folder).run { isReady.yield($0) }
            }
            defer { endpoint.cancel() }
            var addresses = ready.makeAsyncIterator()
            let address = try #require(await addresses.next())
            #expect(PushEndpoint.Address(in: phone.folder) == address)
            try await body(phone, address)
        }
    }

    @Test("a push to an app's token is shown, and answered with its id")
    func shown() async throws {
        try await Self.play { phone, address in
            let id = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
            let answer = try await Self.send(
                address.url, "/3/device/" + address.token(of: "probe"),
                #"{"aps":{"alert":"Hi"}}"#, headers: ["apns-id": id, "apns-topic": "probe"])
            #expect(answer.status == 200 && answer.id == id)
            try await phone.expects(.phone(.banner))
            #expect(try await phone.app().delivered.first?.request.id == id)
        }
    }

    @Test("a push that APNs would refuse is refused with its status and reason, and reaches no app")
    func refused() async throws {
        try await Self.play { phone, address in
            let good = "/3/device/" + address.token(of: "probe")
            let hi = #"{"aps":{"alert":"Hi"}}"#
            let cases: [(String, String, [String: String], String, Int, String)] = [
                ("/3/device/x", hi, [:], "POST", 400, "BadDeviceToken"),
                ("/3/device/" + address.token(of: "no"), hi, [:], "POST", 410, "Unregistered"),
                ("/", hi, [:], "POST", 404, "BadPath"),
                (good, "", [:], "GET", 405, "MethodNotAllowed"),
                (good, hi, ["apns-topic": "no"], "POST", 400, "DeviceTokenNotForTopic"),
                (good, hi, ["apns-priority": "7"], "POST", 400, "BadPriority"),
                (good, "", [:], "POST", 400, "PayloadEmpty"),
                (good, "[", [:], "POST", 400, "MalformedPayload"),
                (
                    good, String(repeating: "x", count: 100_000), [:], "POST", 413,
                    "PayloadTooLarge"
                ),
            ]
            for (path, body, headers, method, status, reason) in cases {
                let answer = try await Self.send(
                    address.url, path, body, headers: headers, method: method)
                #expect(answer.status == status && answer.reason == reason, "\(answer)")
            }
            try await phone.hasNot(.phone(.push))
        }
    }

    @Test("tokens outlive the endpoint, and it takes its port again")
    func again() async throws {
        try await Self.play { phone, address in
            let other = Task { try await PushEndpoint(folder: phone.folder).run { _ in } }
            // The port is taken by the first one: the second takes another, and says so.
            try await eventually("it has another address") {
                PushEndpoint.Address(in: phone.folder)?.url != address.url
            }
            other.cancel()
            let second = try #require(PushEndpoint.Address(in: phone.folder))
            #expect(second.token(of: "probe") == address.token(of: "probe"))
        }
    }
}

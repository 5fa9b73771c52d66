import Foundation
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

/// What the server's pushes say; the device's paths are `BannerTests`.
@Suite("The text of pushes", .timeLimit(.minutes(1)))
struct ServerBannerTests {
    @Test("is that of the device's own banner, for Apple and for browsers")
    func same() async throws {
        for vector in try BannerVector.all() {
            try await withPush { push in
                try await push.make(title: vector.conversation, members: ["ada", "grace"])
                try await push.register("phone", of: "ada")
                if let name = vector.name {
                    try await push.accounts.perform(
                        SetProfile(
                            Profile(name: name, picture: vector.picture),
                            of: UserID(vector.from ?? "")))
                }
                try await push.publish("m1", from: vector.from, body: vector.body)
                try await push.until(pushes: 1)
                let sent = try #require(push.provider.pushes.first)
                let apple = APNsPayload(sent).content
                let said = BannerVector.Said(
                    title: apple.title, subtitle: apple.subtitle, body: apple.body)
                #expect(said == vector.banner, "\(vector.what)")
                let sender = sent.hint.conversation.map { BannerVector.Person($0) }
                #expect(sender == vector.sender, "\(vector.what)")
                let alert = try alert(APNsPayload(sent).json)
                #expect(alert == vector.banner, "\(vector.what): its payload")
                let web = try members(WebPushPayload.json(sent))
                #expect(self.said(web) == vector.banner, "\(vector.what): a browser")
            }
        }
    }

    private func members(_ json: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
    }

    private func alert(_ json: [UInt8]) throws -> BannerVector.Said {
        let aps = try #require(try members(json)["aps"] as? [String: Any])
        return said(try #require(aps["alert"] as? [String: Any]))
    }

    private func said(_ members: [String: Any]) -> BannerVector.Said {
        .init(
            title: members["title"] as? String ?? "?",
            subtitle: members["subtitle"] as? String ?? "", body: members["body"] as? String ?? "?")
    }
}

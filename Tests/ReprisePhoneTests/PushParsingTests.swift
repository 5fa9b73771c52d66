import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

@Suite("Remote pushes, understood")
struct RemotePushTests {
    @Test("an alert's texts, badge, sound, thread and category become the notification's")
    func alert() throws {
        let payload = """
            {"aps": {"alert": {"title": "T", "subtitle": "S", "body": "B", "loc-key": "x"},
             "badge": 3, "sound": {"critical": 1, "name": "x.aiff"}, "thread-id": "t",
             "category": "c", "mutable-content": 1, "interruption-level": "active",
             "relevance-score": 0.5}, "id": 7}
            """
        let push = try PhonePush(
            payload: Array(payload.utf8),
            headers: ["APNS-Collapse-ID": "one", "apns-expiration": "60"])
        let alert = try #require(push.alert)
        #expect(alert.id == "one")
        #expect(alert.content.title == "T")
        #expect(alert.content.subtitle == "S")
        #expect(alert.content.body == "B")
        #expect(alert.content.badge == 3)
        #expect(alert.content.sound && alert.content.soundName == "x.aiff")
        #expect(alert.content.thread == "t")
        #expect(alert.content.category == "c")
        #expect(alert.content.relevance == 0.5)
        #expect(alert.content.info == Array(payload.utf8))
        #expect(push.badge == 3)
        #expect(push.payload == Array(payload.utf8))
        #expect(push.expires == WallTime(milliseconds: 60_000))
        #expect(push.isMutable && !push.wakesApp && !push.isSilent)
    }

    @Test("a text alone is the body; without a collapse id the push's own id is the name")
    func text() throws {
        let id = "6F9619FF-8B86-D011-B42D-00CF4FC964FF"
        let push = try PhonePush(
            payload: Array(#"{"aps":{"alert":"Hi"}}"#.utf8), headers: ["apns-id": id])
        #expect(push.alert?.content.body == "Hi")
        #expect(push.alert?.id == id.lowercased())
    }

    @Test(
        "a push that shows nothing is silent, whatever its type; a background push is silent, whatever it holds",
        arguments: [
            (#"{"aps":{"content-available":1}}"#, "alert", true),
            (#"{"aps":{"content-available":1,"alert":"x"}}"#, "background", true),
            (#"{"aps":{"content-available":1,"alert":"x"}}"#, "alert", false),
            (#"{"aps":{"badge":0}}"#, "alert", false), (#"{"aps":{"sound":"a"}}"#, "alert", false),
            (#"{"aps":{}}"#, "alert", true),
        ])
    func silent(payload: String, type: String, isSilent: Bool) throws {
        let push = try PhonePush(
            payload: Array(payload.utf8), headers: ["apns-push-type": type])
        #expect(push.isSilent == isSilent)
    }

    @Test(
        "a malformed payload is refused with the reason and the wrong member",
        .limit("phone.push"),
        arguments: [
            ("", .payloadEmpty, ""), ("[", .malformedPayload, "JSON"),
            ("[]", .malformedPayload, "JSON"), ("{}", .malformedPayload, "aps"),
            ("\u{0}{\"aps\":{}}", .malformedPayload, "JSON"),
            (#"{"aps":[]}"#, .malformedPayload, "aps"),
            (#"{"aps":{"alert":1}}"#, .malformedPayload, "aps.alert"),
            (#"{"aps":{"alert":{"title":1}}}"#, .malformedPayload, "aps.alert.title"),
            (#"{"aps":{"badge":"1"}}"#, .malformedPayload, "aps.badge"),
            (#"{"aps":{"badge":1.5}}"#, .malformedPayload, ""),
            (#"{"aps":{"badge":-1}}"#, .malformedPayload, "aps.badge"),
            (#"{"aps":{"badge":true}}"#, .malformedPayload, "aps.badge"),
            (#"{"aps":{"badge":1e400}}"#, .malformedPayload, ""),
            (#"{"aps":{"content-available":true}}"#, .malformedPayload, "content-available"),
            (#"{"aps":{"relevance-score":"1"}}"#, .malformedPayload, "relevance-score"),
            ("\n" + String(repeating: "[", count: 2_000), .malformedPayload, ""),
            ("{\"aps\":{}," + String(repeating: " ", count: 4_090) + "}", .payloadTooLarge, "4096"),
        ] as [(String, PushRefusal.Reason, String)])
    func malformed(payload: String, reason: PushRefusal.Reason, words: String) {
        let error = #expect(throws: PushRefusal.self) {
            try PhonePush(payload: Array(payload.utf8))
        }
        #expect(error?.reason == reason)
        #expect(words.isEmpty || error?.message.contains(words) == true, "\(error as Any)")
    }

    @Test(
        "a header that APNs refuses is refused with its reason", .limit("phone.push"),
        arguments: [
            ("apns-collapse-id", "", .badCollapseID),
            ("apns-collapse-id", String(repeating: "x", count: 65), .badCollapseID),
            ("apns-expiration", "soon", .badExpirationDate),
            ("apns-expiration", "-1", .badExpirationDate),
            ("apns-expiration", "9223372036854775807", .badExpirationDate),
            ("apns-id", "1", .badMessageID), ("apns-priority", "7", .badPriority),
            ("apns-priority", "10", .badPriority), ("apns-push-type", "voip", .invalidPushType),
        ] as [(String, String, PushRefusal.Reason)])
    func headers(name: String, value: String, reason: PushRefusal.Reason) {
        let error = #expect(throws: PushRefusal.self) {
            try PhonePush(
                payload: Array(#"{"aps":{"content-available":1}}"#.utf8), headers: [name: value])
        }
        #expect(error?.reason == reason)
    }
}

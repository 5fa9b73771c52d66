import RepriseCore
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Mentions of a message")
struct MentionsTests {
    @Test("are in its body, as the vectors say")
    func vectors() throws {
        let vectors = try MentionVector.all()
        #expect(vectors.count >= 10)
        for vector in vectors {
            let mentions = Mentions(in: Array(vector.body.utf8))
            #expect(mentions.users.map(\.text) == vector.users, "\(vector.what)")
        }
        let escaped = #"{"notice":{"mentions":["\u0061da"]}}"#
        #expect(Mentions(in: Array(escaped.utf8)).users.map(\.text) == ["ada"])
        #expect(!Mentions(in: Array(escaped.utf8)).contains(nil))
    }

    @Test(
        "A body of another form mentions no user",
        arguments: [
            "", "{", #""mentions""#, #"["mentions"]"#, #"{"mentions":["ada"]}"#, "null",
            #"{"notice":{"mentions":["ada"]}"#, #"{"notice":false,"x":"mentions"}"#,
            #"{"notice":"mentions","mentions":["ada"]}"#,
        ])
    func nobody(body: String) {
        #expect(Mentions(in: Array(body.utf8)).users.isEmpty)
    }

    @Test("are fifty at most: later names mean nothing", .limit("noticeSettings.mentions"))
    func bounded() throws {
        let users = try (0...Mentions.limit).map { try UserID("u\($0)") }
        let names = users.map { "\"\($0)\"" }.joined(separator: ",")
        let body = Array(#"{"notice":{"mentions":[\#(names)]}}"#.utf8)
        #expect(Mentions(in: body).users == Array(users.dropLast()))
        #expect(throws: RepriseError.self) { try Mentions.add(users, to: Array("{}".utf8)) }
        let added = try Mentions.add(Array(users.dropLast()), to: Array("{}".utf8))
        #expect(Mentions(in: added).users.count == Mentions.limit)
    }

    @Test(
        "are added to a body, whose other bytes stay",
        arguments: [
            ("{}", #"{"notice":{"mentions":["ada"]}}"#),
            (" { } ", #" {"notice":{"mentions":["ada"]} } "#),
            (#"{"text":"a"}"#, #"{"notice":{"mentions":["ada"]},"text":"a"}"#),
            (#"{"text":"a","notice":{}}"#, #"{"text":"a","notice":{"mentions":["ada"]}}"#),
            (
                #"{"notice": {"sound":"s"},"n":[1, 2]}"#,
                #"{"notice": {"mentions":["ada"],"sound":"s"},"n":[1, 2]}"#
            ),
        ])
    func added(body: String, expected: String) throws {
        let added = try Mentions.add([UserID("ada")], to: Array(body.utf8))
        #expect(String(decoding: added, as: UTF8.self) == expected)
        #expect(Mentions(in: added).users.map(\.text) == ["ada"])
        #expect(try Mentions.add([], to: Array(body.utf8)) == Array(body.utf8))
    }

    @Test(
        "are not added to a body of another form",
        arguments: [
            #""text""#, "[]", "{", #"{"notice":false}"#, #"{"notice":null}"#,
            #"{"notice":{"mentions":[]}}"#,
        ])
    func refused(body: String) throws {
        let user = try UserID("ada")
        #expect { try Mentions.add([user], to: Array(body.utf8)) } throws: {
            ($0 as? RepriseError)?.code == .malformed
        }
    }
}

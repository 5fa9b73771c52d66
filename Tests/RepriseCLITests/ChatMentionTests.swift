import RepriseWire
import Testing

@testable import RepriseCLI

@Suite("Mentions in a chat")
struct ChatMentionTests {
    @Test(
        "the mentions of a line are its @names",
        arguments: [
            ("@ben look", ["ben"]), ("look, @ben! @eve, @ben.", ["ben", "eve"]),
            ("(for @ada@example.org)", ["ada@example.org"]), ("ben@example.org @ @?", []),
            ("@grüße", []),
        ])
    func names(text: String, users: [String]) {
        let body = ChatBody(text: text)
        #expect(body.mentions.map(\.text) == users)
        #expect(Mentions(in: Array(body.json.utf8)).users == body.mentions)
        #expect(ChatBody(Array(body.json.utf8)).text == text)
    }

    @Test("are at most as many as a message may have")
    func bounded() {
        let text = (0...Mentions.limit).map { "@u\($0)" }.joined(separator: " ")
        let body = ChatBody(text: text)
        #expect(body.mentions.count == Mentions.limit)
        #expect(Mentions(in: Array(body.json.utf8)).users.count == Mentions.limit)
    }
}

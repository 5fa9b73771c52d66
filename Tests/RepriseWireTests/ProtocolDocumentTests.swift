import Foundation
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Holds docs/protocol.md against the code that speaks it.
@Suite("Protocol document")
struct ProtocolDocumentTests {
    /// The examples of one direction: a line each.
    static func examples(under heading: String) throws -> [String] {
        let file = Command.root.appending(path: "docs/protocol.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## \(heading)\n").last)
        let end = section.range(of: "\n## ")?.lowerBound ?? section.endIndex
        var isExample = false
        return section[..<end].split(separator: "\n").compactMap { line in
            if line.hasPrefix("```") { isExample = line == "```json" }
            return isExample && line.hasPrefix("{") ? String(line) : nil
        }
    }

    private static func fields(_ text: [UInt8]) throws -> NSDictionary {
        try #require(JSONSerialization.jsonObject(with: Data(text)) as? NSDictionary)
    }

    @Test("an example of what a device sends is read, and written again as it stands")
    func clientExamples() throws {
        var decoder = FrameDecoder()
        var types: Set<String> = []
        for example in try Self.examples(under: "From the device") {
            let fields = try Self.fields(Array(example.utf8))
            let frame = try decoder.clientFrame(Array(example.utf8))
            types.insert(fields["type"] as? String ?? "")
            guard example.contains("\"random\"}") else {
                #expect(try Self.fields(frame.encoded()) == fields)
                continue
            }
            // An absent coverage is written as [].
            #expect(try decoder.clientFrame(frame.encoded()) == frame)
        }
        #expect(
            types == [
                "hello", "subscribe", "unsubscribe", "publish", "receipt", "typing", "presence",
                "watch", "authenticate",
            ])
    }

    @Test("an example of what the server sends is read, and written again as it stands")
    func serverExamples() throws {
        var decoder = FrameDecoder()
        var types: Set<String> = []
        for example in try Self.examples(under: "From the server") {
            let fields = try Self.fields(Array(example.utf8))
            let frame = try #require(try decoder.serverFrame(Array(example.utf8)))
            types.insert(fields["type"] as? String ?? "")
            #expect(try Self.fields(frame.encoded()) == fields)
        }
        #expect(
            types == [
                "welcome", "subscribed", "positions", "event", "gone", "sync_complete", "heartbeat",
                "published", "refused", "receipt", "typing", "presence", "authenticated", "error",
            ])
    }
}

/// The same frames, right and wrong, before our decoder and before the JSON Schemas.
extension ProtocolDocumentTests {
    /// What a field is given that may be wrong there.
    private static var oddities: [Any] {
        [
            NSNull(), true, false, -1, 0, 1, 9_007_199_254_740_991, 9_007_199_254_740_992, 1.5, "",
            "a",
            "a b", "a\"b", "ä", String(repeating: "a", count: 64),
            String(repeating: "a", count: 65),
            String(repeating: "a", count: 128), String(repeating: "a", count: 129), "a.b.c",
            [Any](),
            [[0, 1]], [[1]], [String: Any](), ["a": 1], ["a b": 1], ["a": -1],
        ]
    }

    private static let pairs: Set<String> = ["seq", "prev", "after", "through"]

    /// - Returns: the example, and it with a field left out, a field more, or a field with each
    ///   oddity.
    private static func variations(of example: String) throws -> [[String: Any]] {
        let object = try JSONSerialization.jsonObject(with: Data(example.utf8))
        let frame = try #require(object as? [String: Any])
        var found = [frame, frame.merging(["novelty": ["x": 1]]) { $1 }]
        for key in frame.keys.sorted() where key != "type" {
            found.append(frame.filter { $0.key != key })
            // A body is any JSON; what a coverage's numbers add up to is beyond a schema.
            guard key != "body" else { continue }
            for oddity in oddities {
                // That one number is less than another is beyond a schema.
                if pairs.contains(key), oddity is Int, !(oddity is Bool) { continue }
                found.append(frame.merging([key: oddity]) { $1 })
            }
        }
        return found
    }

    @Test(
        "the JSON Schemas accept the frames that the decoder reads, and refuse those that it refuses",
        .limit("wire.name", "wire.epoch"))
    func schemasAgree() async throws {
        let folder = try TemporaryFolder()
        let file = folder.appending("frames.jsonl")
        var decoder = FrameDecoder()
        var lines: [String] = []
        for (direction, heading) in [("client", "From the device"), ("server", "From the server")] {
            for frame in try Self.examples(under: heading).flatMap(Self.variations) {
                let data = try JSONSerialization.data(withJSONObject: frame)
                let isRead: Bool
                if direction == "client" {
                    isRead = (try? decoder.clientFrame(Array(data))) != nil
                } else {
                    isRead = (try? decoder.serverFrame(Array(data))) != nil
                }
                lines.append(
                    "{\"direction\":\"\(direction)\",\"read\":\(isRead),\"frame\":"
                        + String(decoding: data, as: UTF8.self) + "}")
            }
        }
        #expect(lines.count > 1_000)
        try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        let (status, words) = try await Command.run(
            Command.python.path,
            [Command.root.appending(path: "scripts/check-protocol").path, file.path])
        #expect(status == 0, "\(words)")
    }
}

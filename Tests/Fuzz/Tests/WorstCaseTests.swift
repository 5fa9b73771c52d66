import RepriseCore
import RepriseWire
import Testing

/// Frames of the greatest size that are made to be slow, which a fuzzer of small inputs does not
/// find.
@Suite("The slowest frames")
struct WorstCaseTests {
    static let texts: [(name: String, text: String)] = {
        let most = WireLimits.frameBytes
        let rest = { (piece: String, other: Int) in
            String(repeating: piece, count: (most - other) / piece.utf8.count)
        }
        // Thirty keys of one length, alike up to their last characters.
        let key = { (number: Int) in "\"" + String(repeating: "k", count: 30_000) + "\(number)\":1"
        }
        return [
            ("spaces", #"{"type":"hello","device":"d""# + rest(" ", 40) + "}"),
            (
                "one character",
                #"{"type":"error","code":1,"message":""# + rest("\u{301}", 60) + "\"}"
            ),
            ("an escaped key", #"{""# + rest("\\u0074", 60) + #"":1,"type":"event"}"#),
            (
                "an escaped channel",
                #"{"type":"publish","channelId":""# + rest("\\u0061", 60) + "\"}"
            ),
            ("long keys", "{" + (10..<40).map(key).joined(separator: ",") + "}"),
            ("an open array", #"{"type":"publish","body":["# + rest("[],", 60)),
            ("a long number", #"{"type":"published","seq":"# + rest("9", 60) + "}"),
            ("many heads", #"{"type":"heartbeat","heads":{"a":1"# + rest(#","a":1"#, 60) + "}}"),
            (
                "many ranges",
                #"{"type":"subscribe","channels":[{"channelId":"a","coverage":[[0,1]"#
                    + rest(",[2,3]", 90) + "]}]}"
            ),
            (
                "many channels",
                #"{"type":"subscribe","channels":[{"channelId":"a"}"#
                    + rest(#",{"channelId":"a"}"#, 90) + "]}"
            ),
        ]
    }()

    @Test("A frame of a megabyte is read or refused in time", arguments: texts.map(\.name))
    func inTime(name: String) throws {
        let text = try #require(Self.texts.first { $0.name == name }?.text)
        let bytes = Array(text.utf8)
        try #require(bytes.count <= WireLimits.frameBytes)
        var decoder = FrameDecoder()
        let start = ContinuousClock.now
        _ = try? decoder.clientFrame(bytes)
        _ = try? decoder.serverFrame(bytes)
        _ = FrameDecoder.names(in: bytes)
        // Three readings; a debug build on a busy machine takes a few tenths of a second for them.
        #expect(ContinuousClock.now - start < .seconds(10))
    }
}

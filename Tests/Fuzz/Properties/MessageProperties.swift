import RepriseCore
import RepriseWire

@testable import RepriseServer

/// A message as HTTP brings it.
enum MessageProperties {
    static func check(_ bytes: [UInt8]) throws {
        let channel = try ChannelName("channel")
        guard
            case .message(let message) = PublishedMessage.read(
                bytes, by: HTTPPublisher(channel: channel))
        else {
            return
        }
        try hold(message.body.count <= WireLimits.bodyBytes, "\(message.body.count) bytes")
        try JSONScanner.validate(message.body)
        _ = try EntryID(message.id.text)
        // What HTTP takes, a socket can deliver.
        let event = ServerFrame.Event(
            channel: channel, seq: 1, prev: 0, id: message.id, time: WallTime(milliseconds: 0),
            body: message.body)
        var decoder = FrameDecoder()
        let delivered = try decoder.serverFrame(event.encoded())
        try hold(delivered == .event(event), "stored by HTTP, but delivered otherwise")
        let publish = ClientFrame.publish(
            .init(channel: channel, id: message.id, after: message.after, body: message.body))
        try hold(try decoder.clientFrame(publish.encoded()) == publish, "not to be published")
    }
}

import Foundation
import RepriseCore
import RepriseWire

/// Frames of both directions.
enum FrameProperties {
    static func server(_ bytes: [UInt8]) throws {
        var decoder = FrameDecoder()
        guard let answer = try reading({ try decoder.serverFrame(bytes) }) else { return }
        let fields = try object(bytes)
        guard let frame = answer else { return }
        try check(frame, fields)
        try hold(try decoder.serverFrame(bytes) == frame, "the decoder's memory changes a frame")
        let again = frame.encoded()
        try hold(again.count <= WireLimits.frameBytes, "what came in does not fit going out")
        var other = FrameDecoder()
        let second = try other.serverFrame(again)
        try hold(second == frame, "decode, encode, decode gives \(String(describing: second))")
        try hold(second?.encoded() == again, "encoding twice gives two texts")
    }

    static func client(_ bytes: [UInt8]) throws {
        if let names = FrameDecoder.names(in: bytes) {
            try short(names.channel ?? "", "a name")
            try short(names.id ?? "", "an id")
        }
        var decoder = FrameDecoder()
        guard let frame = try reading({ try decoder.clientFrame(bytes) }) else { return }
        try check(frame, try object(bytes))
        try hold(try decoder.clientFrame(bytes) == frame, "the decoder's memory changes a frame")
        let again = frame.encoded()
        try hold(again.count <= WireLimits.frameBytes, "what came in does not fit going out")
        var other = FrameDecoder()
        let second = try other.clientFrame(again)
        try hold(second == frame, "decode, encode, decode gives \(second)")
        try hold(second.encoded() == again, "encoding twice gives two texts")
    }

    /// - Returns: nil if the bytes are refused in one of the ways that are documented.
    private static func reading<Frame>(_ read: () throws -> Frame) throws -> Frame? {
        do {
            return try read()
        } catch let error as RepriseError {
            let known: [RepriseError.Code] = [.malformed, .badChannelName, .badID, .tooLarge]
            try hold(known.contains(error.code), "refused with \(error)")
            return nil
        }
    }

    /// What was taken for a frame is a JSON object to everybody else.
    private static func object(_ bytes: [UInt8]) throws -> [String: Any] {
        do {
            let value = try JSONSerialization.jsonObject(with: Data(bytes))
            guard let object = value as? [String: Any] else {
                throw BrokenProperty(description: "a frame that is no object: \(value)")
            }
            return object
        } catch  where JSONProperties.isBeyondFoundation(bytes) {
            return [:]
        }
    }

    // MARK: Bounds, and what another reader sees

    private static func check(_ frame: ServerFrame, _ fields: [String: Any]) throws {
        switch frame {
        case .welcome(let welcome):
            try short(welcome.server, "server")
            try time(welcome.time)
            try hold(welcome.heartbeat >= .zero, "a heartbeat of \(welcome.heartbeat)")
        case .subscribed(let subscribed):
            try sequence(subscribed.head, "head", fields)
            try sequence(subscribed.floor, "floor", fields)
            try text(subscribed.channel.text, "channelId", fields)
            try text(subscribed.epoch.text, "epoch", fields)
        case .event(let event):
            try sequence(event.seq, "seq", fields)
            try hold(event.prev >= 0 && event.prev < event.seq, "prev \(event.prev)")
            try text(event.channel.text, "channelId", fields)
            try text(event.id.text, "id", fields)
            try time(event.time)
            if let from = event.from { try text(from.text, "from", fields) }
            switch event.change {
            case nil: break
            case .edits(let seq): try sequence(seq, "edits", fields)
            case .deletes(let seq): try sequence(seq, "deletes", fields)
            }
            try JSONScanner.validate(event.body)
        case .gone(let channel, let gone):
            try sequence(gone.range.after, "after", fields)
            try sequence(gone.range.through, "through", fields)
            try text(channel.text, "channelId", fields)
        case .syncComplete(let complete):
            try sequence(complete.through, "through", fields)
            try time(complete.time)
        case .heartbeat(let time, let heads):
            try Self.time(time)
            try hold(heads.count <= WireLimits.channelsPerConnection, "\(heads.count) heads")
            let seen = fields["heads"] as? [String: Any] ?? [:]
            for (channel, head) in heads { try sequence(head, channel.text, seen) }
        case .published(let published):
            try sequence(published.seq, "seq", fields)
            try text(published.id.text, "id", fields)
        case .refused(let refused):
            try short(refused.channel ?? "", "channel")
            try short(refused.id ?? "", "id")
            try short(refused.code.name, "code")
            try short(refused.message, "message")
            try hold(refused.retryAfter ?? .zero >= .zero, "a wait of less than nothing")
        case .authenticated(let session):
            try text(session.user.text, "user", fields)
            try time(session.expires)
        case .positions(let positions):
            try hold(positions.positions.count <= WireLimits.positions, "too many users")
            try sequence(positions.unread.count, "unread", fields)
            try sequence(positions.unread.head, "head", fields)
        case .receipt(let channel, let position):
            try text(channel.text, "channelId", fields)
            try text(position.user.text, "user", fields)
            try sequence(position.read, "read", fields)
            try sequence(position.delivered, "delivered", fields)
        case .typing(let channel, let user, _, let expires):
            try text(channel.text, "channelId", fields)
            try text(user.text, "user", fields)
            try hold(expires >= .zero && expires <= WireLimits.typing, "typing for \(expires)")
        case .presence(let presence):
            try hold(presence.users.count <= WireLimits.presentUsers, "too many users")
            if let channel = presence.channel { try text(channel.text, "channelId", fields) }
            for user in presence.users { if let seen = user.seen { try time(seen) } }
        case .error(_, let message): try short(message, "message")
        }
    }

    private static func check(_ frame: ClientFrame, _ fields: [String: Any]) throws {
        switch frame {
        case .hello(let hello):
            try text(hello.device.text, "device", fields)
            try short(hello.client, "client")
        case .subscribe(let subscriptions):
            try hold(subscriptions.count <= WireLimits.channelsPerConnection, "too many channels")
            for subscription in subscriptions {
                try CoverageProperties.check(subscription.coverage)
            }
        case .unsubscribe(let channels):
            try hold(channels.count <= WireLimits.channelsPerConnection, "too many channels")
        case .publish(let publish):
            try text(publish.channel.text, "channelId", fields)
            try text(publish.id.text, "id", fields)
            if let after = publish.after { try text(after.text, "after", fields) }
            switch publish.change {
            case nil: break
            case .edits(let id): try text(id.text, "edits", fields)
            case .deletes(let id): try text(id.text, "deletes", fields)
            }
            try JSONScanner.validate(publish.body)
        case .receipt(let receipt):
            try text(receipt.channel.text, "channelId", fields)
            if let read = receipt.read { try sequence(read, "read", fields) }
            if let delivered = receipt.delivered { try sequence(delivered, "delivered", fields) }
        case .typing(let channel, _): try text(channel.text, "channelId", fields)
        case .presence(let state): try hold(state != .offline, "a device is offline")
        case .watch(let watched):
            try hold(watched.count <= WireLimits.watchedChannels, "too many channels")
            for watch in watched {
                try hold((watch.users?.count ?? 0) <= WireLimits.watchedUsers, "too many users")
            }
        case .authenticate(let token): try text(token.secret, "token", fields)
        }
    }

    private static func short(_ text: String, _ name: String) throws {
        try hold(text.utf8.count <= WireLimits.textBytes, "\(name) has \(text.utf8.count) bytes")
    }

    private static func time(_ time: WallTime) throws {
        try hold(
            (0...WireLimits.greatestSequence).contains(time.milliseconds), "a time of \(time)")
    }

    private static func sequence(
        _ value: Int64, _ name: String, _ fields: [String: Any]
    ) throws {
        try hold((0...WireLimits.greatestSequence).contains(value), "\(name) is \(value)")
        guard let other = fields[name] as? NSNumber else { return }
        try hold(other.int64Value == value, "\(name): \(value) here, \(other) to another reader")
    }

    private static func text(_ value: String, _ name: String, _ fields: [String: Any]) throws {
        guard let other = fields[name] as? String else { return }
        try hold(other == value, "\(name): \(value) here, \(other) to another reader")
    }
}

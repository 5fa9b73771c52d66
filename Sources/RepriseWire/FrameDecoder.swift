import RepriseCore

/// Reads frames.
///
/// It keeps the last channel's name, because a catch-up repeats it a thousand times.
///
/// ```swift
/// var decoder = FrameDecoder()
/// let frame = try decoder.serverFrame(bytes)
/// ```
///
/// For any bytes the result is a frame or an error, in time linear in their number.
public struct FrameDecoder: Sendable {
    private var lastChannel = ChannelName(unchecked: "")

    /// Makes a decoder; one for each connection.
    public init() {}

    /// Reads a frame that a client sent.
    ///
    /// - Parameter bytes: one text frame, at most ``WireLimits/frameBytes``.
    /// - Returns: the frame.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.badChannelName`, `.badID`,
    ///   `.tooLarge`.
    public mutating func clientFrame(_ bytes: [UInt8]) throws -> ClientFrame {
        try Self.checkSize(bytes.count)
        return try bytes.withUnsafeBufferPointer { try clientFrame($0) }
    }

    /// Reads a frame that the server sent.
    ///
    /// - Parameter bytes: one text frame, at most ``WireLimits/frameBytes``.
    /// - Returns: nil for a type that this version does not know, which is to be ignored.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.badChannelName`, `.badID`,
    ///   `.tooLarge`.
    public mutating func serverFrame(_ bytes: [UInt8]) throws -> ServerFrame? {
        try Self.checkSize(bytes.count)
        return try bytes.withUnsafeBufferPointer { try serverFrame($0) }
    }

    package mutating func clientFrame(_ bytes: UnsafeBufferPointer<UInt8>) throws -> ClientFrame {
        let request = try clientRequest(bytes)
        if let refused = request.refused.first {
            throw RepriseError(.badChannelName, refused.message)
        }
        return request.frame
    }

    /// Reads a frame that a client sent, with the data that the server needs to answer it.
    ///
    /// Unlike ``clientFrame(_:)`` it accepts a frame in which some names violate the rules, and
    /// returns them.
    package mutating func clientRequest(_ bytes: [UInt8]) throws -> ClientRequest {
        try Self.checkSize(bytes.count)
        return try bytes.withUnsafeBufferPointer { try clientRequest($0) }
    }

    private mutating func clientRequest(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) throws -> ClientRequest {
        let envelope = try Envelope(bytes)
        let type = try envelope.value("type")
        let says = { (name: StaticString) in
            type.kind == .string && envelope.scanner.says(type, name)
        }
        if says("publish") { return ClientRequest(.publish(try publish(envelope))) }
        if says("subscribe") { return try subscribe(envelope) }
        if says("unsubscribe") { return try unsubscribe(envelope) }
        if says("receipt") { return ClientRequest(.receipt(try receipt(envelope))) }
        if says("typing") {
            return ClientRequest(
                .typing(try channel(envelope), isTyping: try envelope.bool("active")))
        }
        if says("presence") {
            return ClientRequest(.presence(try state(envelope, of: [.online, .idle])))
        }
        if says("watch") { return ClientRequest(.watch(try watched(envelope))) }
        if says("authenticate") { return ClientRequest(.authenticate(try token(envelope))) }
        if says("hello") { return ClientRequest(.hello(try hello(envelope))) }
        let name = try envelope.string("type").excerpt
        throw RepriseError(
            .malformed, "The frame type \(name) is unknown.",
            remedy: """
                A client sends hello, subscribe, unsubscribe, publish, receipt, typing, presence, \
                watch and authenticate.
                """)
    }

    package mutating func serverFrame(_ bytes: UnsafeBufferPointer<UInt8>) throws -> ServerFrame? {
        let envelope = try Envelope(bytes)
        let type = try envelope.value("type")
        let says = { (name: StaticString) in
            type.kind == .string && envelope.scanner.says(type, name)
        }
        if says("event") { return .event(try event(envelope)) }
        if says("published") { return .published(try published(envelope)) }
        if says("heartbeat") { return try heartbeat(envelope) }
        if says("sync_complete") { return .syncComplete(try syncComplete(envelope)) }
        if says("subscribed") { return .subscribed(try subscribed(envelope)) }
        if says("gone") { return try gone(envelope) }
        if says("receipt") {
            return .receipt(channel: try channel(envelope), try position(envelope))
        }
        if says("typing") { return try typing(envelope) }
        if says("presence") { return .presence(try presence(envelope)) }
        if says("positions") { return .positions(try positions(envelope)) }
        if says("refused") { return .refused(try refused(envelope)) }
        if says("authenticated") { return .authenticated(try session(envelope)) }
        if says("welcome") { return .welcome(try welcome(envelope)) }
        if says("error") { return try error(envelope) }
        _ = try envelope.string("type")
        return nil
    }

    private static func checkSize(_ count: Int) throws {
        guard count <= WireLimits.frameBytes else {
            throw RepriseError(
                .tooLarge, "A frame has at most \(WireLimits.frameBytes) bytes, not \(count).")
        }
    }

    private mutating func channel(_ envelope: Envelope) throws -> ChannelName {
        let value = try envelope.value("channelId")
        guard value.kind == .string, !value.hasEscapes else { return try envelope.channel() }
        let text = envelope.scanner.inside(value)
        var last = lastChannel.text
        if last.withUTF8({ JSONScanner.areEqual($0, text) }) { return lastChannel }
        lastChannel = try envelope.naming("channelId") {
            try ChannelName(String(decoding: text, as: UTF8.self))
        }
        return lastChannel
    }

    // MARK: From clients

    private func hello(_ envelope: Envelope) throws -> ClientFrame.Hello {
        ClientFrame.Hello(
            version: try envelope.integer("version"), device: try envelope.id("device"),
            client: envelope.optional("client") == nil ? "" : short(try envelope.string("client")),
            token: envelope.optional("token") == nil ? nil : try token(envelope),
            isIdle: try envelope.bool("idle"))
    }

    private func token(_ envelope: Envelope) throws -> AccessToken {
        try AccessToken(try envelope.string("token"))
    }

    private mutating func receipt(_ envelope: Envelope) throws -> ClientFrame.Receipt {
        ClientFrame.Receipt(
            channel: try channel(envelope),
            read: envelope.optional("read") == nil ? nil : try envelope.sequence("read"),
            delivered: envelope.optional("delivered") == nil
                ? nil : try envelope.sequence("delivered"))
    }

    /// A message's change to an earlier one, however that is named.
    private func change<Target>(
        _ envelope: Envelope, _ target: (StaticString) throws -> Target
    ) throws -> MessageChange<Target>? {
        let edits = envelope.optional("edits") != nil
        let deletes = envelope.optional("deletes") != nil
        switch (edits, deletes) {
        case (false, false): return nil
        case (true, false): return .edits(try target("edits"))
        case (false, true): return .deletes(try target("deletes"))
        case (true, true):
            throw RepriseError(.malformed, "A message edits or deletes another, not both.")
        }
    }

    private mutating func publish(_ envelope: Envelope) throws -> ClientFrame.Publish {
        let body = try envelope.value("body")
        return ClientFrame.Publish(
            channel: try channel(envelope), id: try envelope.id("id"),
            after: envelope.optional("after") == nil ? nil : try envelope.id("after"),
            change: try change(envelope, envelope.id),
            body: Array(envelope.scanner.raw(body)))
    }

    private func subscribe(_ envelope: Envelope) throws -> ClientRequest {
        let number = try request(envelope)
        var refused: [ServerFrame.Refused] = []
        var count = 0
        var result: [ClientFrame.Subscription] = []
        try envelope.elements("channels") { value in
            try Self.checkChannelCount(count)
            count += 1
            let member = try envelope.object(value)
            var coverage = Coverage()
            if let ranges = member.optional("coverage") {
                var inner = member.scanner.at(ranges)
                coverage = try member.naming("coverage") { try Coverage(from: &inner) }
            }
            let epoch = member.optional("epoch") == nil ? nil : try member.epoch()
            let isFirst = try member.bool("first")
            switch try name(try member.string("channelId"), number) {
            case .success(let channel):
                result.append(
                    ClientFrame.Subscription(
                        channel: channel, epoch: epoch, coverage: coverage, isFirst: isFirst))
            case .failure(let refusal): refused.append(refusal.frame)
            }
        }
        return ClientRequest(.subscribe(result), number: number, refused: refused)
    }

    private func unsubscribe(_ envelope: Envelope) throws -> ClientRequest {
        var refused: [ServerFrame.Refused] = []
        var count = 0
        var result: [ChannelName] = []
        try envelope.elements("channels") { value in
            try Self.checkChannelCount(count)
            count += 1
            switch try name(try envelope.scanner.string(value), nil) {
            case .success(let channel): result.append(channel)
            case .failure(let refusal): refused.append(refusal.frame)
            }
        }
        return ClientRequest(.unsubscribe(result), refused: refused)
    }

    /// One of several names: a bad one is refused, and the others count.
    private func name(
        _ text: String, _ number: Int64?
    ) throws -> Result<ChannelName, RefusedName> {
        do {
            return .success(try ChannelName(text))
        } catch let error as RepriseError {
            guard error.code == .badChannelName else { throw error }
            return .failure(
                RefusedName(
                    frame: .init(
                        channel: short(text), id: nil, code: .badChannelName,
                        message: error.message, request: number)))
        }
    }

    private struct RefusedName: Error {
        let frame: ServerFrame.Refused
    }

    private static func checkChannelCount(_ count: Int) throws {
        guard count < WireLimits.channelsPerConnection else {
            throw RepriseError(
                .malformed,
                "A frame names at most \(WireLimits.channelsPerConnection) channels.")
        }
    }

    private func state(
        _ envelope: Envelope, of known: [PresenceState] = PresenceState.allCases
    ) throws -> PresenceState {
        let text = try envelope.string("state")
        guard let state = known.first(where: { $0.rawValue == text }) else {
            let words = known.map(\.rawValue).joined(separator: ", ")
            throw RepriseError(.malformed, "The field state is one of: \(words).")
        }
        return state
    }

    private func watched(_ envelope: Envelope) throws -> [ClientFrame.Watch] {
        var watched: [ClientFrame.Watch] = []
        try envelope.elements("channels") { value in
            guard watched.count < WireLimits.watchedChannels else {
                throw RepriseError(
                    .malformed,
                    "A device watches at most \(WireLimits.watchedChannels) channels.")
            }
            let member = try envelope.object(value)
            let channel = try member.channel()
            guard !watched.contains(where: { $0.channel == channel }) else {
                throw RepriseError(.malformed, "A watch names a channel twice.")
            }
            watched.append(ClientFrame.Watch(channel: channel, users: try namedUsers(member)))
        }
        return watched
    }

    /// The users whom a watch names; nil: all.
    private func namedUsers(_ member: Envelope) throws -> [UserID]? {
        guard member.optional("users") != nil else { return nil }
        var users: [UserID] = []
        try member.elements("users") { value in
            guard users.count < WireLimits.watchedUsers else {
                throw RepriseError(
                    .malformed,
                    "A watch names at most \(WireLimits.watchedUsers) users of a channel.")
            }
            users.append(try UserID(try member.scanner.string(value)))
        }
        return users
    }

    // MARK: From the server

    private func welcome(_ envelope: Envelope) throws -> ServerFrame.Welcome {
        ServerFrame.Welcome(
            version: try envelope.integer("version"), time: try envelope.time("timestamp"),
            heartbeat: try envelope.duration("heartbeat"),
            server: envelope.optional("server") == nil ? "" : short(try envelope.string("server")),
            session: envelope.optional("user") == nil ? nil : try session(envelope),
            directory: envelope.optional("directory") == nil
                ? nil : try envelope.channel("directory"),
            hasPresence: try envelope.bool("presence"))
    }

    private func presence(_ envelope: Envelope) throws -> ServerFrame.Presence {
        var users: [UserPresence] = []
        try envelope.elements("users") { value in
            guard users.count < WireLimits.presentUsers else {
                throw RepriseError(
                    .malformed, "A frame names at most \(WireLimits.presentUsers) users.")
            }
            let user = try envelope.object(value)
            users.append(
                UserPresence(
                    user: try user.user("user"), state: try state(user),
                    seen: user.optional("seen") == nil ? nil : try user.time("seen")))
        }
        return ServerFrame.Presence(
            channel: envelope.optional("channelId") == nil ? nil : try envelope.channel(),
            users: users,
            refusal: envelope.optional("code") == nil
                ? nil : RefusalCode(short(try envelope.string("code"))))
    }

    private func session(_ envelope: Envelope) throws -> ServerFrame.Session {
        ServerFrame.Session(
            user: try envelope.user("user"), expires: try envelope.time("expires"))
    }

    private func position(_ envelope: Envelope) throws -> ServerFrame.Position {
        ServerFrame.Position(
            user: try envelope.user("user"), read: try envelope.sequence("read"),
            delivered: try envelope.sequence("delivered"))
    }

    private mutating func positions(_ envelope: Envelope) throws -> ServerFrame.Positions {
        var found: [ServerFrame.Position] = []
        try envelope.elements("users") { value in
            guard found.count < WireLimits.positions else {
                throw RepriseError(
                    .malformed, "A frame names at most \(WireLimits.positions) users.")
            }
            found.append(try position(try envelope.object(value)))
        }
        return ServerFrame.Positions(
            channel: try channel(envelope), positions: found,
            unread: Unread(
                count: try envelope.sequence("unread"), head: try envelope.sequence("head"),
                mentions: envelope.optional("mentions") == nil
                    ? 0 : try envelope.sequence("mentions")))
    }

    private mutating func typing(_ envelope: Envelope) throws -> ServerFrame {
        .typing(
            channel: try channel(envelope), user: try envelope.user("user"),
            isTyping: try envelope.bool("active"),
            expires: min(try envelope.duration("expires"), WireLimits.typing))
    }

    private mutating func subscribed(_ envelope: Envelope) throws -> ServerFrame.Subscribed {
        ServerFrame.Subscribed(
            channel: try channel(envelope), epoch: try envelope.epoch(),
            head: try envelope.sequence("head"), floor: try envelope.sequence("floor"),
            reset: try envelope.bool("reset"), request: try request(envelope))
    }

    private mutating func event(_ envelope: Envelope) throws -> ServerFrame.Event {
        let seq = try envelope.sequence("seq")
        let prev = envelope.optional("prev") == nil ? seq - 1 : try envelope.sequence("prev")
        guard prev >= 0, prev < seq else {
            throw RepriseError(.malformed, "An event's prev must be less than its seq.")
        }
        return ServerFrame.Event(
            channel: try channel(envelope), seq: seq, prev: prev, id: try envelope.id("id"),
            time: try envelope.time("timestamp"),
            from: envelope.optional("from") == nil ? nil : try envelope.user("from"),
            change: try change(envelope, envelope.sequence),
            isDeleted: try envelope.bool("deleted"), body: try envelope.raw("body"))
    }

    private mutating func gone(_ envelope: Envelope) throws -> ServerFrame {
        let after = try envelope.sequence("after")
        guard let range = SequenceRange(after: after, through: try envelope.sequence("through"))
        else { throw RepriseError(.malformed, "A gone has 0 ≤ after < through.") }
        guard let reason = Gone.Reason(rawValue: try envelope.string("reason")) else {
            throw RepriseError(.malformed, "The reason of a gone is unknown.")
        }
        return .gone(channel: try channel(envelope), Gone(range: range, reason: reason))
    }

    private mutating func syncComplete(_ envelope: Envelope) throws -> ServerFrame.SyncComplete {
        guard try envelope.bool("catchUpComplete") else {
            throw RepriseError(.malformed, "A sync_complete says that catchUpComplete is true.")
        }
        return ServerFrame.SyncComplete(
            channel: try channel(envelope), epoch: try envelope.epoch(),
            through: try envelope.sequence("through"), time: try envelope.time("timestamp"))
    }

    private func heartbeat(_ envelope: Envelope) throws -> ServerFrame {
        var heads: [ChannelName: Int64] = [:]
        var scanner = JSONScanner(
            envelope.scanner.bytes, from: try envelope.value("heads").range.lowerBound)
        let outer = envelope.scanner
        try scanner.object { key, value in
            try Self.checkChannelCount(heads.count)
            let head = try outer.sequence(value)
            let name = try ChannelName(try outer.string(key))
            guard heads.updateValue(head, forKey: name) == nil else {
                throw RepriseError(.malformed, "The field heads names a channel twice.")
            }
        }
        return .heartbeat(time: try envelope.time("timestamp"), heads: heads)
    }

    private mutating func published(_ envelope: Envelope) throws -> ServerFrame.Published {
        ServerFrame.Published(
            channel: try channel(envelope), id: try envelope.id("id"),
            seq: try envelope.sequence("seq"))
    }

    private func refused(_ envelope: Envelope) throws -> ServerFrame.Refused {
        ServerFrame.Refused(
            channel: envelope.optional("channelId") == nil
                ? nil : short(try envelope.string("channelId")),
            id: envelope.optional("id") == nil ? nil : short(try envelope.string("id")),
            code: RefusalCode(short(try envelope.string("code"))),
            message: short(try envelope.string("message")),
            retryAfter: envelope.optional("retryAfter") == nil
                ? nil : try envelope.duration("retryAfter"), request: try request(envelope))
    }

    private func request(_ envelope: Envelope) throws -> Int64? {
        envelope.optional("request") == nil ? nil : try envelope.sequence("request")
    }

    private func error(_ envelope: Envelope) throws -> ServerFrame {
        let number = try envelope.integer("code")
        return .error(
            code: CloseCode(UInt16(exactly: number) ?? CloseCode.protocolError.number),
            message: short(try envelope.string("message")))
    }

    private func short(_ text: String) -> String { Self.short(text) }

    /// At most ``WireLimits/textBytes``, cut at the end of a scalar: a character may have any
    /// number of bytes.
    private static func short(_ text: String) -> String {
        guard text.utf8.count > WireLimits.textBytes else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: WireLimits.textBytes)
        while UTF8.isContinuation(text.utf8[end]) { end = text.utf8.index(before: end) }
        return String(decoding: text.utf8[..<end], as: UTF8.self)
    }
}

extension FrameDecoder {
    /// The names in a client's frame, as written, so that a refusal can name its target.
    ///
    /// - Returns: nil for a frame that names no channel, or for bytes that are not a frame.
    package static func names(in text: [UInt8]) -> (channel: String?, id: String?)? {
        text.withUnsafeBufferPointer { bytes in
            guard let envelope = try? Envelope(bytes),
                ["publish", "subscribe", "unsubscribe", "receipt", "typing"].contains(
                    try? envelope.string("type"))
            else { return nil }
            return (
                (try? envelope.string("channelId")).map(short),
                (try? envelope.string("id")).map(short)
            )
        }
    }
}

import Foundation
import RepriseCore
import RepriseWire

/// The routes of a ``MemoryServer`` that Reprise calls: mutes, quiet hours, devices, channels, the
/// catalogue of forms.
enum MemoryRoutes {
    struct Answer {
        var status = 200
        var body = ""
        var tag: String?

        static let notFound = failure(404, "notFound", "Nothing is here.")

        static func failure(_ status: Int, _ code: String, _ message: String) -> Answer {
            Answer(
                status: status, body: #"{"error":{"code":"\#(code)","message":"\#(message)"}}"#)
        }
    }

    static func respond(to request: HTTPCall, _ state: inout MemoryServerState) -> Answer {
        guard let url = URLComponents(string: request.url) else { return .notFound }
        let path = url.percentEncodedPath.split(separator: "/").map {
            String($0).percentDecoded ?? ""
        }
        guard path.first == "v1", path.count > 1 else { return .notFound }
        if path[1] == "forms" { return forms(request, state) }
        guard let user = caller(of: request, state) else {
            return state.tokens == nil
                ? .failure(403, "forbidden", "This server asks nobody who he is.")
                : .failure(401, "unauthorized", "The token is not one that is known here.")
        }
        if request.method == "GET", path == ["v1", "unread"] { return unread(of: user, state) }
        if path[1] == "channels" || path[1] == "direct" {
            return conversations(request, path, by: user, &state)
        }
        if path[1] == "archive", path.count == 3, let channel = try? ChannelName(path[2]) {
            return archive(channel, request, by: user, &state)
        }
        if request.method == "PUT", path == ["v1", "profile"] {
            return setProfile(request, of: user, &state)
        }
        return respondOnSettings(request, url, path, of: user, &state)
    }

    /// nil: its token is not known, or the server is without users.
    private static func caller(of request: HTTPCall, _ state: MemoryServerState) -> UserID? {
        guard let tokens = state.tokens else { return state.user }
        let secret = request.headers.first { $0.key.lowercased() == "authorization" }?.value
        return secret.flatMap { try? AccessToken(String($0.dropFirst("Bearer ".count))) }
            .flatMap { tokens[$0] }
    }

    private static func archive(
        _ channel: ChannelName, _ request: HTTPCall, by user: UserID,
        _ state: inout MemoryServerState
    ) -> Answer {
        guard request.method == "DELETE" || state.directory.isMember(user, of: channel) else {
            return .failure(403, "forbidden", MemoryServerState.forbidden)
        }
        var settings = state.directory[user]
        settings.archived[channel.text] = request.method == "PUT" ? state.time : nil
        state.setSettings(settings, of: user)
        state.tell(user, of: channel)
        return Answer(status: 204)
    }

    /// Mutes, quiet hours, presence and devices of a user.
    private static func respondOnSettings(
        _ request: HTTPCall, _ url: URLComponents, _ path: [String], of user: UserID,
        _ state: inout MemoryServerState
    ) -> Answer {
        var settings = state.directory[user]
        defer { state.setSettings(settings, of: user) }
        let isDeletion = request.method == "DELETE"
        switch (request.method, path.dropFirst().first, path.count) {
        case ("GET", "mutes", 2): return settings.mutes
        case ("PUT", "mutes", 3), ("DELETE", "mutes", 3):
            guard path[2] == "elsewhere" else { return .notFound }
            settings.isSilentElsewhere = !isDeletion
            return isDeletion ? Answer(status: 204) : MemorySettings.write(["elsewhere": true])
        case ("PUT", "mutes", 4), ("DELETE", "mutes", 4):
            let answer = settings.mute(path[2], path[3], isDeletion ? nil : request.bytes)
            if path[2] == "channels", let channel = try? ChannelName(path[3]),
                state.directory.isMember(user, of: channel)
            {
                state.setSettings(settings, of: user)
                state.tell(user, of: channel)
            }
            return answer
        case ("GET", "quiet-hours", 2): return settings.hours
        case ("PUT", "quiet-hours", 2): return settings.setHours(request.bytes)
        case ("DELETE", "quiet-hours", 2):
            let device = url.queryItems?.first { $0.name == "device" }?.value
            if let device {
                settings.deviceQuietHours[device] = nil
            } else {
                settings.quietHours = nil
            }
            return Answer(status: 204)
        case ("PUT", "presence", 2) where state.tellsPresence:
            guard
                let setting = MemorySettings.read(
                    HiddenPresence.self, request.bytes, only: RequestFields.presence)
            else { return MemorySettings.malformed }
            settings.hidesPresence = setting.hidden
            return MemorySettings.write(setting)
        case ("GET", "devices", 2): return settings.devices
        case ("PUT", "devices", 3): return settings.register(path[2], request.bytes)
        case ("DELETE", "devices", 3):
            settings.pushTokens[path[2]] = nil
            return Answer(status: 204)
        default: return .notFound
        }
    }

    private static func unread(of user: UserID, _ state: MemoryServerState) -> Answer {
        struct Counts: Encodable {
            struct Channel: Encodable {
                var channelId: String
                var unread: Int64
                var mentions: Int64?
                var head: Int64
            }

            var epoch: String
            var channels: [Channel]
        }
        let channels = state.directory.channels(of: user).compactMap { name -> Counts.Channel? in
            let unread = state.unread(in: name, for: user)
            guard unread.count > 0 else { return nil }
            return .init(
                channelId: name.text, unread: unread.count,
                mentions: unread.mentions > 0 ? unread.mentions : nil, head: unread.head)
        }
        return MemorySettings.write(Counts(epoch: state.epoch.text, channels: channels))
    }

    private static func setProfile(
        _ request: HTTPCall, of user: UserID, _ state: inout MemoryServerState
    ) -> Answer {
        guard
            let profile = MemorySettings.read(
                Profile.self, request.bytes, only: RequestFields.profile),
            (try? profile.validate()) != nil
        else { return MemorySettings.malformed }
        state.setProfile(profile, of: user)
        return MemorySettings.write(profile)
    }

    /// Makes and titles private channels, and changes their members, for any member of them.
    private static func conversations(
        _ request: HTTPCall, _ path: [String], by user: UserID, _ state: inout MemoryServerState
    ) -> Answer {
        if path[1] == "direct", path.count == 3, request.method == "PUT",
            let other = try? UserID(path[2])
        {
            let channel = ChannelName.direct(user, other)
            state.setMembers([user, other], of: channel)
            return MemorySettings.write(["channelId": channel.text, "user": other.text])
        }
        guard path.count > 2, let channel = try? ChannelName(path[2]) else { return .notFound }
        let members = state.directory.members[channel]
        let condition = request.headers.first { $0.key.lowercased() == "if-match" }
        let mayMake = ["PUT", "PATCH"].contains(request.method) && condition == nil
        let isIn = members?.contains(user) ?? (mayMake && path.count == 3)
        guard isIn else { return .failure(403, "forbidden", MemoryServerState.forbidden) }
        if path.count == 5 { return setMember(path[4], of: channel, request.method, &state) }
        switch (request.method, path.count) {
        case ("GET", 3):
            return MemorySettings.write(PrivateChannel(title: state.directory.titles[channel]))
        case ("PUT", 3):
            guard
                let settings = MemorySettings.read(
                    PrivateChannel.self, request.bytes, only: RequestFields.channel)
            else { return MemorySettings.malformed }
            make(channel, title: settings.title, by: user, &state)
            return MemorySettings.write(settings)
        case ("PATCH", 3):
            guard
                let changes = MemorySettings.read(
                    PrivateChannel.Changes.self, request.bytes, only: RequestFields.channel)
            else { return MemorySettings.malformed }
            let title: String? = changes.title ?? state.directory.titles[channel]
            make(channel, title: title, by: user, &state)
            return MemorySettings.write(PrivateChannel(title: state.directory.titles[channel]))
        default: return .notFound
        }
    }

    private static func setMember(
        _ user: String, of channel: ChannelName, _ method: String, _ state: inout MemoryServerState
    ) -> Answer {
        guard let user = try? UserID(user) else { return .notFound }
        let members = state.directory.members[channel] ?? []
        switch method {
        case "PUT":
            state.setMembers(members.union([user]), of: channel)
            return MemorySettings.write(["user": user.text, "role": "member"])
        case "DELETE":
            state.setMembers(members.subtracting([user]), of: channel)
            return Answer(status: 204)
        default: return .notFound
        }
    }

    /// Titles a channel; one that has no members gets this one.
    private static func make(
        _ channel: ChannelName, title: String?, by user: UserID, _ state: inout MemoryServerState
    ) {
        state.setTitle(title, of: channel)
        if state.directory.members[channel] == nil { state.setMembers([user], of: channel) }
    }

    private static func forms(_ request: HTTPCall, _ state: MemoryServerState) -> Answer {
        guard request.method == "GET", let catalogue = state.catalogue else {
            return .failure(404, "noCatalogue", "This company has no forms.")
        }
        let tag = "\"\(EntryID.hash(of: catalogue, prefix: "").text)\""
        guard request.headers["if-none-match"] != tag else { return Answer(status: 304, tag: tag) }
        return Answer(body: catalogue, tag: tag)
    }
}

/// The body of `/v1/presence`.
private struct HiddenPresence: Codable {
    let hidden: Bool
}

/// The body of `/v1/channels/{channel}`.
private struct PrivateChannel: Codable {
    /// A merge patch (RFC 7396).
    struct Changes: Decodable {
        /// The new title, which may be none; nil: it is kept.
        let title: String??

        enum CodingKeys: CodingKey { case title }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            title =
                try fields.contains(.title)
                ? .some(fields.decodeIfPresent(String.self, forKey: .title)) : nil
        }
    }

    var visibility = "private"
    var title: String?
}

extension HTTPCall {
    fileprivate var bytes: [UInt8] { if case .bytes(let bytes) = body { bytes } else { [] } }
}

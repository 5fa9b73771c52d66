import Foundation
import RepriseCore
public import RepriseWire

/// A user's settings on a ``MemoryServer``: what the app has told it over HTTP.
public struct MemorySettings: Hashable, Sendable {
    /// The muted channels, and until when in milliseconds since 1970; nil: for ever.
    public internal(set) var mutedChannels: [String: Int64?] = [:]
    /// The muted users, likewise.
    public internal(set) var mutedUsers: [String: Int64?] = [:]
    /// The muted channels whose mute mentions of the user do not break.
    public internal(set) var channelsMutedWithMentions: Set<String> = []
    /// The muted users whose mentions of the user come through.
    public internal(set) var usersMutedExceptMentions: Set<String> = []
    /// Whether nothing rings while the user is active on another device.
    public internal(set) var isSilentElsewhere = false
    /// When channels were archived, in milliseconds since 1970.
    public internal(set) var archived: [String: Int64] = [:]
    /// Quiet hours of the user.
    public internal(set) var quietHours: QuietHours?
    /// Quiet hours of single devices, by the device's id.
    public internal(set) var deviceQuietHours: [String: QuietHours] = [:]
    /// The push tokens, in hexadecimal digits, by the device's id; nil: a device without one.
    public internal(set) var pushTokens: [String: String?] = [:]
    /// Whether the user hides his presence.
    public internal(set) var hidesPresence = false

    func isMuted(
        _ channel: ChannelName, from user: UserID?, isMention: Bool, at now: WallTime
    ) -> Bool {
        func holds(_ until: Int64??, exceptMentions: Bool) -> Bool {
            guard let until else { return false }
            return NoticeState.Mute.until(
                WallTime(milliseconds: until ?? .max), exceptMentions: exceptMentions
            ).holds(isMention: isMention, at: now)
        }
        let exceptsMentions = !channelsMutedWithMentions.contains(channel.text)
        return holds(mutedChannels[channel.text], exceptMentions: exceptsMentions)
            || user.map {
                holds(
                    mutedUsers[$0.text],
                    exceptMentions: usersMutedExceptMentions.contains($0.text))
            } ?? false
    }

    /// The quiet hours of a device; of one that is not named those of any.
    func hours(of device: String?, at now: WallTime) -> QuietHours? {
        let own: QuietHours? =
            device.map { deviceQuietHours[$0] }
            ?? deviceQuietHours.values.first { $0.contains(now) }
        return own ?? quietHours
    }
}

/// Settings as `docs/openapi.json` writes them.
extension MemorySettings {
    typealias Answer = MemoryRoutes.Answer

    private struct Mute: Codable {
        var channelId: String?
        var user: String?
        var until: Int64?
        var exceptMentions: Bool?
    }

    private struct Hours: Codable {
        var device: String?
        var from: String
        var to: String
        var timeZone: String

        init(_ hours: QuietHours, of device: String?) {
            (self.device, timeZone) = (device, hours.zone)
            (from, to) = (hours.startText, hours.endText)
        }
    }

    private struct Device: Codable {
        var device: String?
        var platform: String?
        var pushToken: String?
        var hasPushToken: Bool?
        var hasWebPush: Bool?
    }

    static func write(_ value: some Encodable) -> Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Answer(body: String(decoding: (try? encoder.encode(value)) ?? Data(), as: UTF8.self))
    }

    /// nil for another body, and for one with a field that the server does not know.
    static func read<Value: Decodable>(
        _ type: Value.Type, _ body: [UInt8], only fields: [StaticString]
    ) -> Value? {
        do {
            try body.withUnsafeBufferPointer { try Envelope($0).expect(only: fields) }
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            return nil
        }
    }

    static let malformed = Answer.failure(
        400, "malformed", "The body is not what docs/openapi.json asks for.")

    var mutes: Answer {
        let channels = mutedChannels.map { name, until in
            Mute(
                channelId: name, until: until,
                exceptMentions: channelsMutedWithMentions.contains(name) ? false : nil)
        }
        let users = mutedUsers.map { name, until in
            Mute(
                user: name, until: until,
                exceptMentions: usersMutedExceptMentions.contains(name) ? true : nil)
        }
        struct Mutes: Encodable {
            var mutes: [Mute]
            var elsewhere: Bool?
        }
        return Self.write(
            Mutes(mutes: channels + users, elsewhere: isSilentElsewhere ? true : nil))
    }

    mutating func mute(_ kind: String, _ name: String, _ body: [UInt8]?) -> Answer {
        guard kind == "channels" || kind == "users" else { return .notFound }
        let isChannel = kind == "channels"
        let part = isChannel ? \MemorySettings.mutedChannels : \MemorySettings.mutedUsers
        let unusual =
            isChannel
            ? \MemorySettings.channelsMutedWithMentions : \MemorySettings.usersMutedExceptMentions
        guard let body else {
            self[keyPath: part].removeValue(forKey: name)
            self[keyPath: unusual].remove(name)
            return Answer(status: 204)
        }
        guard let mute = Self.read(Mute.self, body, only: RequestFields.mute) else {
            return Self.malformed
        }
        self[keyPath: part].updateValue(mute.until, forKey: name)
        if mute.exceptMentions ?? isChannel == isChannel {
            self[keyPath: unusual].remove(name)
        } else {
            self[keyPath: unusual].insert(name)
        }
        return Self.write(mute)
    }

    var hours: Answer {
        let own = quietHours.map { [Hours($0, of: nil)] } ?? []
        return Self.write([
            "quietHours": own + deviceQuietHours.map { Hours($0.value, of: $0.key) }
        ])
    }

    mutating func setHours(_ body: [UInt8]) -> Answer {
        guard let asked = Self.read(Hours.self, body, only: RequestFields.quietHours),
            let hours = try? QuietHours(from: asked.from, to: asked.to, zone: asked.timeZone)
        else { return Self.malformed }
        if let device = asked.device {
            deviceQuietHours[device] = hours
        } else {
            quietHours = hours
        }
        return Self.write(asked)
    }

    var devices: Answer {
        Self.write([
            "devices": pushTokens.map {
                Device(device: $0.key, hasPushToken: $0.value != nil, hasWebPush: false)
            }
        ])
    }

    mutating func register(_ device: String, _ body: [UInt8]) -> Answer {
        guard let asked = Self.read(Device.self, body, only: RequestFields.device),
            asked.platform != nil
        else { return Self.malformed }
        pushTokens.updateValue(asked.pushToken, forKey: device)
        return Self.write(
            Device(
                device: device, platform: asked.platform, hasPushToken: asked.pushToken != nil,
                hasWebPush: false))
    }
}

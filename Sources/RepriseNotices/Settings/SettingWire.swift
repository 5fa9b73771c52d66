import Foundation
import RepriseCore
import RepriseJournal
import RepriseWire

/// The HTTP format of settings: `docs/openapi.json`.
enum SettingWire {
    /// A request that sends a setting to the server.
    struct Call: Hashable, Sendable {
        var method: String
        var path: String
        var body: [UInt8]?
    }

    static func call(
        _ target: SettingTarget, _ value: SettingValue?, device: EntryID, platform: String
    ) throws -> Call {
        switch (target, value) {
        case (.channel(let name), nil):
            Call(method: "DELETE", path: "/v1/mutes/channels/\(name.text)")
        case (.person(let user), nil):
            Call(method: "DELETE", path: "/v1/mutes/users/" + segment(user.text))
        case (.channel(let name), .mute(let until, let exceptMentions)):
            Call(
                method: "PUT", path: "/v1/mutes/channels/\(name.text)",
                body: mute(until, exceptMentions ? nil : false))
        case (.person(let user), .mute(let until, let exceptMentions)):
            Call(
                method: "PUT", path: "/v1/mutes/users/" + segment(user.text),
                body: mute(until, exceptMentions ? true : nil))
        case (.quiet, nil): Call(method: "DELETE", path: "/v1/quiet-hours")
        case (.deviceQuiet, nil):
            Call(method: "DELETE", path: "/v1/quiet-hours?device=" + segment(device.text))
        case (.quiet, .quiet(let from, let to, let zone)):
            Call(method: "PUT", path: "/v1/quiet-hours", body: quiet(from, to, zone, nil))
        case (.deviceQuiet, .quiet(let from, let to, let zone)):
            Call(method: "PUT", path: "/v1/quiet-hours", body: quiet(from, to, zone, device))
        case (.push, nil):
            Call(
                method: "PUT", path: "/v1/devices/" + segment(device.text),
                body: registration(platform, nil))
        case (.push, .push(let platform, let token)):
            Call(
                method: "PUT", path: "/v1/devices/" + segment(device.text),
                body: registration(platform, token))
        case (.elsewhere, nil): Call(method: "DELETE", path: "/v1/mutes/elsewhere")
        case (.elsewhere, .silent):
            Call(method: "PUT", path: "/v1/mutes/elsewhere", body: Array("{}".utf8))
        case (.channel, _), (.person, _), (.quiet, _), (.deviceQuiet, _), (.push, _),
            (.elsewhere, _):
            throw DispatchFailure.permanent("It is no setting of its target.")
        }
    }

    /// `exceptMentions` is nil where it is as the server assumes.
    private static func mute(_ until: Int64?, _ exceptMentions: Bool?) -> [UInt8] {
        var json = JSONWriter()
        json.object { mute in
            if let until {
                mute.key("until")
                mute.integer(until)
            }
            guard let exceptMentions else { return }
            mute.key("exceptMentions")
            mute.bool(exceptMentions)
        }
        return json.bytes
    }

    private static func quiet(
        _ from: String, _ to: String, _ zone: String, _ device: EntryID?
    ) -> [UInt8] {
        var json = JSONWriter()
        json.object { hours in
            if let device {
                hours.key("device")
                hours.plain(device.text)
            }
            hours.key("from")
            hours.plain(from)
            hours.key("to")
            hours.plain(to)
            hours.key("timeZone")
            hours.string(zone)
        }
        return json.bytes
    }

    private static func registration(_ platform: String, _ token: String?) -> [UInt8] {
        var json = JSONWriter()
        json.object { device in
            device.key("platform")
            device.string(platform)
            guard let token else { return }
            device.key("pushToken")
            device.string(token)
        }
        return json.bytes
    }

    /// One percent-encoded segment of a path: users' names may contain reserved characters.
    private static func segment(_ text: String) -> String {
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        let digits = Array("0123456789ABCDEF".utf8)
        return String(
            decoding: text.utf8.flatMap { byte -> [UInt8] in
                guard !plain.contains(byte) else { return [byte] }
                return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }, as: UTF8.self)
    }
}

/// The server's response with all settings.
struct ServerSettings {
    private struct Mutes: Decodable {
        struct Mute: Decodable {
            var channelId: String?
            var user: String?
            var until: Int64?
            var exceptMentions: Bool?
        }
        var mutes: [Mute]
        var elsewhere: Bool?
    }

    private struct Hours: Decodable {
        struct Quiet: Decodable {
            var device: String?
            var from: String
            var to: String
            var timeZone: String
        }
        var quietHours: [Quiet]
    }

    private struct Devices: Decodable {
        struct Device: Decodable {
            var device: String
            var hasPushToken: Bool
        }
        var devices: [Device]
    }

    /// The values that apply to this device.
    private(set) var values: [SettingTarget: SettingValue] = [:]

    /// - Throws: ``Unreached`` for an unreadable response.
    mutating func takeMutes(_ body: [UInt8]) throws {
        let answer = try Self.read(Mutes.self, body)
        if answer.elsewhere == true { values[.elsewhere] = .silent }
        for mute in answer.mutes {
            let value = SettingValue.mute(
                until: mute.until, exceptMentions: mute.exceptMentions ?? (mute.user == nil))
            if let name = mute.channelId.flatMap({ try? ChannelName($0) }) {
                values[.channel(name)] = value
            } else if let user = mute.user.flatMap({ try? UserID($0) }) {
                values[.person(user)] = value
            }
        }
    }

    /// Hours that this device cannot understand are none, as for a decision.
    mutating func takeQuietHours(_ body: [UInt8], device: EntryID) throws {
        for hours in try Self.read(Hours.self, body).quietHours {
            guard
                let quiet = try? QuietHours(from: hours.from, to: hours.to, zone: hours.timeZone)
            else { continue }
            switch hours.device {
            case nil: values[.quiet] = SettingValue(quiet)
            case device.text: values[.deviceQuiet] = SettingValue(quiet)
            default: break
            }
        }
    }

    /// Whether the server has a device's push token.
    static func hasPushToken(_ body: [UInt8], device: EntryID) throws -> Bool {
        try read(Devices.self, body).devices.contains {
            $0.device == device.text && $0.hasPushToken
        }
    }

    private static func read<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) throws -> Value
    {
        do {
            return try ForeignJSON.decode(type, from: body)
        } catch {
            throw Unreached("The server's answer is not what was asked for.", code: .malformed)
        }
    }
}

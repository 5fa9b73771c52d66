import Foundation
import RepriseCore
import RepriseJournal
import RepriseWire

/// The target of a setting; its text is the row's name and the partition key.
enum SettingTarget: Hashable, Sendable {
    case channel(ChannelName)
    case person(UserID)
    case quiet
    case deviceQuiet
    case push
    /// Whether nothing rings while the person is active on another device.
    case elsewhere

    init?(_ text: String) {
        switch text {
        case "quiet": self = .quiet
        case "quiet:device": self = .deviceQuiet
        case "push": self = .push
        case "elsewhere": self = .elsewhere
        default:
            if text.hasPrefix("channel:"), let name = try? ChannelName(String(text.dropFirst(8))) {
                self = .channel(name)
            } else if text.hasPrefix("user:"), let user = try? UserID(String(text.dropFirst(5))) {
                self = .person(user)
            } else {
                return nil
            }
        }
    }

    var text: String {
        switch self {
        case .channel(let name): "channel:" + name.text
        case .person(let user): "user:" + user.text
        case .quiet: "quiet"
        case .deviceQuiet: "quiet:device"
        case .push: "push"
        case .elsewhere: "elsewhere"
        }
    }

    /// Changes of one target are sent in order.
    var partitionKey: String { EntryID.hash(of: text, prefix: "setting-").text }

    var isMute: Bool {
        switch self {
        case .channel, .person: true
        case .quiet, .deviceQuiet, .push, .elsewhere: false
        }
    }

    /// In a sentence.
    var words: String {
        switch self {
        case .channel(let name): "the mute of the channel \(name)"
        case .person(let user): "the mute of \(user)"
        case .quiet: "the quiet hours"
        case .deviceQuiet: "the quiet hours of this device"
        case .push: "where this device is reached"
        case .elsewhere: "the silence while another device is used"
        }
    }
}

/// The value of a setting.
enum SettingValue: Hashable, Sendable, Codable {
    case mute(until: Int64?, exceptMentions: Bool)
    case quiet(from: String, to: String, zone: String)
    case push(platform: String, token: String)
    case silent

    init(_ hours: QuietHours) {
        self = .quiet(from: hours.startText, to: hours.endText, zone: hours.zone)
    }

    /// As it lies in the journal.
    var bytes: Data { get throws { try JSONEncoder().encode(self) } }

    static func read(_ bytes: Data) throws -> SettingValue {
        try ForeignJSON.decode(SettingValue.self, from: [UInt8](bytes))
    }
}

/// The content of an entry of ``NoticeKinds/setting``.
struct SettingChange: Hashable, Sendable, Codable {
    var target: String
    /// Nil: removed.
    var value: SettingValue?
}

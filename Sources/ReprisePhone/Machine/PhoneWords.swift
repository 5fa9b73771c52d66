import RepriseCore

extension PhoneLaunch.Reason {
    /// Its word in the log.
    var word: String {
        switch self {
        case .user: "user"
        case .response: "response"
        case .task(let task): "task \(task)"
        case .push: "push"
        case .transfers: "transfers"
        }
    }
}

extension PhoneNetwork {
    /// Its word in the log.
    var word: String {
        switch self {
        case .off: "off"
        case .on: "on"
        case .slow(let latency, let rate):
            "slow: \(latency) ms" + (rate.map { ", \($0) bytes/s" } ?? "")
        }
    }
}

extension PhoneDevice {
    /// Its word in the log.
    var word: String {
        [
            isPluggedIn ? "plugged in" : "unplugged", isMetered ? "metered" : "unmetered",
            isLowPower ? "low power" : nil,
            freeBytes.map { "\($0) bytes free" },
        ].compactMap(\.self).joined(separator: ", ")
    }
}

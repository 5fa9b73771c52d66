import Foundation
import RepriseCore

/// What a status means to a task.
enum StatusPolicy {
    /// Lets what is done pass.
    ///
    /// Statuses that are `accepted` are as good as 2xx. Else it throws `HandOverFailure`
    /// `.permanent`, or `.retry` if the server has named a wait, or `.unavailable` for another try.
    static func check(
        _ head: HTTPHead, accepted: Set<Int> = [], now: WallTime = .current
    ) throws {
        switch head.status {
        case 200..<300: return
        case let status where accepted.contains(status): return
        case 408, 425, 429, 500..<600:
            let reason = "unavailable: The server answered \(head.status)."
            if let wait = retryAfter(head, now) { throw HandOverFailure.retry(after: wait, reason) }
            throw RepriseError(
                .unavailable, "The server answered \(head.status).", remedy: "Try again later.")
        case let status:
            throw HandOverFailure.permanent("refused: The server answered \(status).")
        }
    }

    /// How long the server asks to wait: seconds, or a moment (RFC 9110 §10.2.3); at most a day.
    static func retryAfter(_ head: HTTPHead, _ now: WallTime) -> Duration? {
        guard let text = head.headers["retry-after"]?.trimmingCharacters(in: .whitespaces) else {
            return nil
        }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return min(.seconds(Int64(text) ?? .max / 2), WorkerLimits.retryAfter)
        }
        return HTTPDate.read(text).map {
            max(.zero, min(now.duration(to: $0), WorkerLimits.retryAfter))
        }
    }
}

extension WallTime {
    /// What this machine's clock says; a server's wish is measured by it and bounded, nothing else
    /// is.
    static var current: WallTime {
        WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }
}

import Foundation
import RepriseCore

/// The meaning of a status to a task.
enum StatusPolicy {
    /// Returns for a status of success.
    ///
    /// Statuses that are `accepted` succeed like 2xx. Else it throws `DispatchFailure`
    /// `.permanent`, or `.retry` if the server sent `Retry-After`, or `.unavailable` for another
    /// try.
    static func check(
        _ head: HTTPHead, accepted: Set<Int> = [], now: WallTime = .current
    ) throws {
        switch head.status {
        case 200..<300: return
        case let status where accepted.contains(status): return
        case 408, 425, 429, 500..<600:
            let reason = "unavailable: The server answered \(head.status)."
            if let wait = retryAfter(head, now) { throw DispatchFailure.retry(after: wait, reason) }
            throw RepriseError(
                .unavailable, "The server answered \(head.status).", remedy: "Try again later.")
        case let status:
            throw DispatchFailure.permanent("refused: The server answered \(status).")
        }
    }

    /// The wait that the server asks for: seconds, or a date (RFC 9110 §10.2.3); at most a day.
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
    /// This machine's clock; used only for a server's `Retry-After`, which is bounded.
    static var current: WallTime {
        WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }
}

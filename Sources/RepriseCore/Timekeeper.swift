import Foundation
import Synchronization

/// The device's two clocks, and a way to wait.
///
/// Every configuration takes one, so that a test controls time: `ManualClock` of RepriseTesting. An
/// app leaves the system's.
public protocol Timekeeper: Sendable {
    /// The calendar, as the device has it; it can jump.
    func wall() -> WallTime
    /// Time since some fixed moment; never jumps, advances while the device sleeps.
    func uptime() -> Duration
    /// The identity of the origin of ``uptime()``: changes when the device restarts.
    var boot: String { get }
    /// Waits until `uptime()` has reached `moment`; throws `CancellationError` when cancelled.
    func sleep(until moment: Duration) async throws
}

extension Timekeeper {
    /// Waits for `duration`.
    package func sleep(for duration: Duration) async throws {
        try await sleep(until: uptime() + duration)
    }

    /// The current reading of both clocks.
    package func clockReading() -> ClockReading {
        ClockReading(wall: wall(), uptime: uptime(), boot: boot)
    }
}

/// The system's clocks.
public struct SystemTimekeeper: Timekeeper {
    /// The system's name for its current start.
    public let boot: String

    /// Reads the name of the current start.
    public init() {
        #if canImport(Darwin)
            boot = Self.bootSessionID() ?? Self.bootTime()
        #else
            let id = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
            boot = id?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        #endif
    }

    /// The system's calendar.
    public func wall() -> WallTime {
        WallTime(milliseconds: Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)))
    }

    /// Time since the system started; advances while it sleeps.
    public func uptime() -> Duration {
        // Both clocks count from boot and advance while the device sleeps; MONOTONIC on Linux does
        // not.
        var time = timespec()
        #if canImport(Darwin)
            clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #else
            clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Waits until ``uptime()`` has reached `moment`.
    ///
    /// - Throws: `CancellationError`.
    public func sleep(until moment: Duration) async throws {
        let left = moment - uptime()
        if left > .zero { try await Task.sleep(for: left) }
    }

    #if canImport(Darwin)
        private static func bootSessionID() -> String? {
            var size = 0
            guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else {
                return nil
            }
            var bytes = [UInt8](repeating: 0, count: size)
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else {
                return nil
            }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }

        /// Changes with the calendar too: then a reading counts as one of an earlier start.
        private static func bootTime() -> String {
            var time = timeval()
            var size = MemoryLayout<timeval>.size
            guard sysctlbyname("kern.boottime", &time, &size, nil, 0) == 0 else { return "" }
            return "\(time.tv_sec)"
        }
    #endif
}

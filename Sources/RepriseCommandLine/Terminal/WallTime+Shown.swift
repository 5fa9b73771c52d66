import Foundation
package import RepriseCore

extension WallTime {
    /// Day, hour, minute and second here, without a formatter, which depends on the place.
    package var dayAndTime: String {
        let time = local
        return String(
            format: "%04d-%02d-%02d %02d:%02d:%02d", time.tm_year + 1_900, time.tm_mon + 1,
            time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec)
    }

    /// Hour and minute here.
    package var hourAndMinute: String {
        let time = local
        return String(format: "%02d:%02d", time.tm_hour, time.tm_min)
    }

    private var local: tm {
        var seconds = time_t(milliseconds / 1_000)
        var time = tm()
        localtime_r(&seconds, &time)
        return time
    }
}

extension WallTime {
    /// This machine's time.
    package static var here: WallTime {
        WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }
}

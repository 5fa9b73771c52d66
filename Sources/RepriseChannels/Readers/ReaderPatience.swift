import RepriseCore

/// How a reader meets a disk that fails it: nothing that was done may be forgotten, so it tries
/// again.
package enum ReaderPatience {
    private static let backoff = Backoff(base: .milliseconds(100), longest: .seconds(30))

    /// How long to wait before trying again, after so many failures in a row; nil: that would not
    /// mend it.
    package static func wait(after error: any Error, failures: Int, jitter: Double) -> Duration? {
        guard let error = error as? RepriseError else { return nil }
        switch error.code {
        case .diskFull, .diskFailed, .busy, .full, .notWritable:
            return backoff.delay(failures: failures, jitter: jitter)
        default: return nil
        }
    }
}

import RepriseCore

/// A reader's retries after a disk failure: no finished work may be forgotten.
package enum ReaderRetryPolicy {
    private static let backoff = Backoff(base: .milliseconds(100), longest: .seconds(30))

    /// The wait before the next attempt, after so many failures in a row; nil: a retry cannot fix
    /// it.
    package static func wait(after error: any Error, failures: Int, jitter: Double) -> Duration? {
        guard let error = error as? RepriseError else { return nil }
        switch error.code {
        case .diskFull, .diskFailed, .busy, .full, .notWritable:
            return backoff.delay(failures: failures, jitter: jitter)
        default: return nil
        }
    }
}

import Foundation

/// The process's limit of open files and sockets.
enum DescriptorLimit {
    /// Raises the soft limit to the hard one, as far as the system allows.
    ///
    /// - Returns: the effective limit; nil if there is none, or it cannot be read.
    static func raise() -> Int? {
        #if os(Linux)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        #if os(Linux)
            let most = limit.rlim_max
        #else
            let most = min(limit.rlim_max, rlim_t(OPEN_MAX))
        #endif
        if limit.rlim_cur < most {
            var raised = limit
            raised.rlim_cur = most
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(exactly: limit.rlim_cur)
    }
}

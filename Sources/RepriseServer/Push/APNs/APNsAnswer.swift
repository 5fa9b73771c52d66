import RepriseCore
import RepriseWire

/// Interprets Apple's answers for the push, the device and the provider.
///
/// The statuses and reasons are those of Apple's "Handling notification responses from APNs";
/// `docs/push.md` has them as a table.
package enum APNsAnswer {
    /// A meaning that the provider must judge.
    package enum Meaning: Hashable, Sendable {
        case outcome(PushOutcome)
        /// The provider token is too old.
        case tokenExpired
        /// The device's token does not belong to this service and topic: it is invalid, or the
        /// environment is wrong.
        case strangeDevice(String)
    }

    package static func meaning(
        status: Int, body: [UInt8], retryAfter: Duration?
    ) -> Meaning {
        if status == 200 { return .outcome(.accepted) }
        let (reason, since) = read(body)
        guard let reason else { return .outcome(unexplained(status, retryAfter)) }
        switch reason {
        case "BadDeviceToken", "DeviceTokenNotForTopic": return .strangeDevice(reason)
        case "ExpiredProviderToken": return .tokenExpired
        case "Unregistered", "ExpiredToken": return .outcome(.dead(since: since))
        case "BadTopic", "MissingTopic", "TopicDisallowed", "BadCertificate",
            "BadCertificateEnvironment", "Forbidden", "InvalidProviderToken",
            "MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken":
            return .outcome(.unauthorized(reason))
        case "IdleTimeout", "TooManyRequests":
            return .outcome(.later(retryAfter, reason))
        case "TooManyProviderTokenUpdates":
            return .outcome(.unavailable(retryAfter ?? PushLimits.circuitLongest, reason))
        case "InternalServerError":
            return .outcome(
                .later(max(retryAfter ?? .zero, PushLimits.apnsServerFailure), reason))
        case "ServiceUnavailable", "Shutdown":
            return .outcome(
                .unavailable(retryAfter, reason, again: PushLimits.apnsServerFailure))
        default: return .outcome(unknown(status, reason, since, retryAfter))
        }
    }

    /// An unknown reason, or one for an invalid request.
    private static func unknown(
        _ status: Int, _ reason: String, _ since: WallTime?, _ retryAfter: Duration?
    ) -> PushOutcome {
        switch status {
        case 403: .unauthorized(reason)
        case 410: .dead(since: since)
        case 429: .later(retryAfter, reason)
        case 500...599:
            .unavailable(retryAfter, reason, again: PushLimits.apnsServerFailure)
        default: .refused(reason)
        }
    }

    /// Apple gives a reason for everything; an answer without one comes from an intermediary.
    private static func unexplained(_ status: Int, _ retryAfter: Duration?) -> PushOutcome {
        switch status {
        case 413: .refused("413")
        case 429: .later(retryAfter, "429")
        default: .unavailable(retryAfter, "An answer that Apple does not give: \(status).")
        }
    }

    /// The reason, and for an invalid token its time.
    private static func read(_ body: [UInt8]) -> (reason: String?, since: WallTime?) {
        let found = try? body.withUnsafeBufferPointer { bytes -> (String?, WallTime?) in
            let object = try Envelope(bytes)
            let reason = try object.string("reason")
            // Only printable characters go into the log.
            guard reason.utf8.count <= 64, reason.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
            else { return (nil, nil) }
            let since = try? object.sequence("timestamp")
            return (reason, since.map { WallTime(milliseconds: $0) })
        }
        return (found?.0, found?.1)
    }
}

import RepriseCore
import RepriseWire

/// What an answer of Apple's means for the push, the device and us.
///
/// The statuses and reasons are those of Apple's "Handling notification responses from APNs";
/// `docs/push.md` has them as a table.
package enum APNsAnswer {
    /// What only the provider can judge.
    package enum Meaning: Hashable, Sendable {
        case outcome(PushOutcome)
        /// The token that says who we are is too old.
        case tokenExpired
        /// The device's token is none of this service and topic: it is dead, or the service is the
        /// wrong one.
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

    /// A reason that is not known yet, or one of those that say that the request itself is wrong.
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

    /// Apple gives a reason for everything; what does not is something that stands between us.
    private static func unexplained(_ status: Int, _ retryAfter: Duration?) -> PushOutcome {
        switch status {
        case 413: .refused("413")
        case 429: .later(retryAfter, "429")
        default: .unavailable(retryAfter, "An answer that Apple does not give: \(status).")
        }
    }

    /// The reason, and for a dead token since when it is.
    private static func read(_ body: [UInt8]) -> (reason: String?, since: WallTime?) {
        let found = try? body.withUnsafeBufferPointer { bytes -> (String?, WallTime?) in
            let object = try Envelope(bytes)
            let reason = try object.string("reason")
            // Nothing but letters goes on into the log.
            guard reason.utf8.count <= 64, reason.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
            else { return (nil, nil) }
            let since = try? object.sequence("timestamp")
            return (reason, since.map { WallTime(milliseconds: $0) })
        }
        return (found?.0, found?.1)
    }
}

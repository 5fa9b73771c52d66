import RepriseCore

/// Power, metering and free disk space.
extension PhoneMachine {
    mutating func setDevice(at now: PhoneMoment, _ body: (inout PhoneDevice) -> Void) {
        var device = state.device
        body(&device)
        guard device != state.device else { return }
        state.device = device
        log(.device, nil, device.word, at: now)
        act(.tellDevice)
        conditionsChanged(at: now)
        runTransfers(at: now)
    }

    mutating func setStorage(_ bytes: Int64?, at now: PhoneMoment) throws(PhoneFailure) {
        guard bytes ?? 0 >= 0 else {
            throw PhoneFailure(.badConfiguration, "A disk has no less than 0 bytes free.")
        }
        setDevice(at: now) { $0.freeBytes = bytes }
    }

    /// Why a processing task cannot run now; nil if it can.
    func obstacle(to kind: BackgroundRequest.Kind) -> String? {
        guard case .processing(let needsNetwork, let needsPower) = kind else { return nil }
        if needsNetwork, state.network == .off {
            return "The task needs the network, and there is none."
        }
        if needsPower, !state.device.isPluggedIn {
            return "The task needs power, and the phone is not plugged in."
        }
        return nil
    }

    /// Power or network has changed while tasks run that asked for it.
    mutating func conditionsChanged(at now: PhoneMoment) {
        guard state.rules.taskConditionLost == .expires else { return }
        for app in appNames {
            for slot in process(app)?.slots ?? [] where !slot.isExpired {
                guard let kind = state.apps[app]?.granted[slot.task], obstacle(to: kind) != nil
                else { continue }
                slotDue(app, slot, at: now)
            }
        }
    }
}

extension PhoneDevice {
    /// Its word in the log.
    var word: String {
        [
            isPluggedIn ? "plugged in" : "unplugged", isMetered ? "metered" : "unmetered",
            freeBytes.map { "\($0) bytes free" },
        ].compactMap(\.self).joined(separator: ", ")
    }
}

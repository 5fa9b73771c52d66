import RepriseCore

/// A kill between the word of a screen and the end of its entry: by chance alone hardly any falls
/// there.
extension RemindersDevice {
    /// One of three faults that kill has a second kill behind it, which waits for that moment.
    func waylay(_ fault: Fault) {
        guard [.killDevice, .powerLossDevice].contains(fault.kind), fault.bits >> 20 % 3 == 0
        else { return }
        waylays.append(fault)
    }

    /// It is durable that a screen has shown it; its entry has not ended.
    func wordIsDurable() {
        guard !waylays.isEmpty else { return }
        let fault = waylays.removeFirst()
        let isPower = fault.kind == .powerLossDevice
        let (simulation, machine) = (simulation, machine)
        machine.process.arm(after: Int(fault.bits >> 24 % 4)) {
            simulation.met(fault.kind)
            machine.process.kill(isPower ? "loses power" : "is killed")
            machine.crash(isPower)
            if isPower { machine.process.clock.restart() }
            simulation.after(fault.length) { machine.process.start() }
        }
    }
}

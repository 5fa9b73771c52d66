// What Apple's frameworks do behind the ports of RepriseCore, one adapter a port; no decisions are
// made here. On other systems the module is empty.

/** The notebook widget: to be written. */
export default { render() {} };
